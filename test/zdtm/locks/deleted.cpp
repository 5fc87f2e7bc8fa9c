// SPDX-License-Identifier: GPL-2.0-only
// zdtm: dump-options --file-locks
// zdtm: restore-options --file-locks
// zdtm: ignore fd \d+
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>

#include "zdtm.hpp"

ZDTM("locks on a deleted file and on a memfd") {
    const int deleted = SYS(open("file", O_RDWR | O_CREAT, 0644));
    const int again = SYS(open("file", O_RDWR));
    SYS(unlink("file"));
    const int memory = SYS(memfd_create("memory", 0));
    SYS(flock(deleted, LOCK_EX));
    SYS(flock(memory, LOCK_SH));
    struct flock range {};
    range.l_type = F_WRLCK;
    SYS(fcntl(memory, F_SETLK, &range));
    me.wait_for_check();
    CHECK(flock(again, LOCK_SH | LOCK_NB) == -1 && errno == EWOULDBLOCK, "%s", strerror(errno));
    const std::string path = "/proc/self/fd/" + std::to_string(memory);
    const int other = SYS(open(path.c_str(), O_RDWR));
    CHECK(flock(other, LOCK_EX | LOCK_NB) == -1 && errno == EWOULDBLOCK, "%s", strerror(errno));
    const pid_t child = me.start_child([=](zdtm::Task& task) {
        struct flock found {};
        found.l_type = F_RDLCK;
        SYS(fcntl(memory, F_GETLK, &found));
        CHECK(found.l_type == F_WRLCK && found.l_pid == getppid(), "type %d of %d", found.l_type, found.l_pid);
        task.wait_for_check();
    });
    me.finish(child);
}
