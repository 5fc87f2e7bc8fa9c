// SPDX-License-Identifier: GPL-2.0-only
// zdtm: dump-options --file-locks
// zdtm: restore-options --file-locks
#include <fcntl.h>
#include <sched.h>
#include <sys/file.h>
#include <sys/syscall.h>

#include "zdtm.hpp"

ZDTM("locks of two processes that share a descriptor table") {
    const int file = SYS(open("file", O_RDWR | O_CREAT, 0644));
    const int done = SYS(open("done", O_RDWR | O_CREAT, 0644));
    struct flock range {};
    range.l_type = F_WRLCK;
    range.l_len = 10;
    SYS(fcntl(file, F_SETLK, &range));
    SYS(flock(file, LOCK_EX));
    const long child = SYS(syscall(SYS_clone, CLONE_FILES | SIGCHLD, nullptr, nullptr, nullptr, nullptr));
    if (child == 0) {
        range.l_start = 10;
        // POSIX locks belong to the descriptor table, so the lock is the parent's, too.
        SYS(fcntl(file, F_SETLK, &range));
        range.l_start = 30;
        SYS(fcntl(file, F_SETLK, &range));
        SYS(write(done, "x", 1));
        me.wait_trigger();
        _exit(0);
    }
    while (lseek(done, 0, SEEK_END) == 0) {
        usleep(1000);
    }
    me.wait_for_check();
    const pid_t stranger = me.start_child([=](zdtm::Task& task) {
        const int own = SYS(open("file", O_RDWR));
        struct flock all {};
        all.l_type = F_WRLCK;
        all.l_len = 20;
        SYS(fcntl(own, F_GETLK, &all));
        CHECK(all.l_type == F_WRLCK && all.l_start == 0 && all.l_len == 20, "type %d, %ld+%ld", all.l_type, all.l_start,
              all.l_len);
        task.wait_for_check();
        struct flock last {};
        last.l_type = F_WRLCK;
        last.l_start = 30;
        SYS(fcntl(own, F_GETLK, &last));
        CHECK(last.l_pid == child, "process %d has set the lock", last.l_pid);
        CHECK(flock(own, LOCK_SH | LOCK_NB) == -1 && errno == EWOULDBLOCK, "%s", strerror(errno));
    });
    me.finish(stranger);
    me.finish(static_cast<pid_t>(child));
}
