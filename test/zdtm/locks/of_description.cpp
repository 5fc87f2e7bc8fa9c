// SPDX-License-Identifier: GPL-2.0-only
// zdtm: dump-options --file-locks
// zdtm: restore-options --file-locks
#include <fcntl.h>

#include "zdtm.hpp"

namespace {

int lock(int fd, short type, off_t start, off_t length) {
    struct flock range {};
    range.l_type = type;
    range.l_start = start;
    range.l_len = length;
    return fcntl(fd, F_OFD_SETLK, &range);
}

}  // namespace

ZDTM("open file description locks of several descriptions of one file; two processes share one description") {
    const int one = SYS(open("file", O_RDWR | O_CREAT, 0644));
    const int other = SYS(open("file", O_RDWR));
    SYS(lock(one, F_WRLCK, 0, 10));
    SYS(lock(one, F_RDLCK, 50, 0));
    SYS(lock(other, F_WRLCK, 20, 10));
    const pid_t child = me.start_child([=](zdtm::Task& task) {
        task.wait_for_check();
        CHECK(lock(other, F_WRLCK, 5, 1) == -1 && errno == EAGAIN, "%s", strerror(errno));
        CHECK(lock(other, F_WRLCK, 10, 10) == 0, "%s", strerror(errno));
        CHECK(lock(other, F_RDLCK, 60, 1) == 0, "%s", strerror(errno));
        CHECK(lock(other, F_WRLCK, 60, 1) == -1 && errno == EAGAIN, "%s", strerror(errno));
        CHECK(lock(one, F_UNLCK, 0, 10) == 0, "%s", strerror(errno));
    });
    me.wait_for_check();
    CHECK(lock(one, F_WRLCK, 25, 1) == -1 && errno == EAGAIN, "%s", strerror(errno));
    me.finish(child);
    CHECK(lock(other, F_WRLCK, 5, 1) == 0, "the child's unlocking had no effect: %s", strerror(errno));
}
