// SPDX-License-Identifier: GPL-2.0-only
#include <poll.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "zdtm.hpp"

namespace {

int open_pidfd(pid_t pid) {
    return static_cast<int>(SYS(syscall(SYS_pidfd_open, pid, 0)));
}

ino_t inode(int file) {
    struct stat found {};
    SYS(fstat(file, &found));
    return found.st_ino;
}

void require_ended(int pidfd) {
    pollfd entry{pidfd, POLLIN, 0};
    CHECK(poll(&entry, 1, 0) == 1, "%s", strerror(errno));
    CHECK(syscall(SYS_pidfd_send_signal, pidfd, 0, nullptr, 0) == -1 && errno == ESRCH, "%s", strerror(errno));
}

}  // namespace

ZDTM("pidfds of reaped processes: those of one process refer to one process after the restore, in several processes") {
    const pid_t first = SYS(fork());
    if (first == 0) {
        me.wait_trigger();
        _exit(0);
    }
    const pid_t second = SYS(fork());
    if (second == 0) {
        me.wait_trigger();
        _exit(0);
    }
    const int one = open_pidfd(first);
    const int other = open_pidfd(second);
    const int shared = open_pidfd(first);
    const pid_t child = me.start_child([&](zdtm::Task& task) {
        SYS(close(one));
        const int own = open_pidfd(first);
        task.wait_for_check();
        require_ended(own);
        require_ended(shared);
        require_ended(other);
        CHECK(inode(own) == inode(shared), "pidfds of one process refer to two");
        CHECK(inode(own) != inode(other), "pidfds of two processes refer to one");
    });
    SYS(close(shared));
    zdtm::kill_and_reap(first);
    zdtm::kill_and_reap(second);
    me.wait_for_check();

    require_ended(one);
    require_ended(other);
    CHECK(inode(one) != inode(other), "pidfds of two processes refer to one");
    me.finish(child);
}
