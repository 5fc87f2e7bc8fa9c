// SPDX-License-Identifier: GPL-2.0-only
// zdtm: dump-options --file-locks
// zdtm: restore-options --file-locks
// zdtm: ignore fd 4
#include <fcntl.h>
#include <sys/file.h>

#include "zdtm.hpp"

namespace {

void check_taken(const char* path, int operation, bool taken) {
    const int fd = SYS(open(path, O_RDWR));
    const int result = flock(fd, operation | LOCK_NB);
    CHECK((result == -1 && errno == EWOULDBLOCK) == taken, "%s: %d, %s", path, result, strerror(errno));
    SYS(close(fd));
}

}  // namespace

ZDTM("flock(2) locks belong to their description; every process that has it can change them") {
    const int exclusive = SYS(open("exclusive", O_RDWR | O_CREAT, 0644));
    const int shared = SYS(open("shared", O_RDONLY | O_CREAT, 0644));
    SYS(open("shared", O_RDONLY));  // another description without a lock
    SYS(flock(exclusive, LOCK_EX));
    SYS(flock(shared, LOCK_SH));
    const pid_t child = me.start_child([=](zdtm::Task& task) {
        task.wait_for_check();
        SYS(flock(exclusive, LOCK_SH));  // changes the lock of the parent, too: both share the description
    });
    SYS(close(shared));
    me.wait_for_check();
    check_taken("exclusive", LOCK_SH, true);
    check_taken("shared", LOCK_EX, true);
    check_taken("shared", LOCK_SH, false);
    me.finish(child);
    check_taken("exclusive", LOCK_SH, false);
    check_taken("exclusive", LOCK_EX, true);
    check_taken("shared", LOCK_EX, false);
}
