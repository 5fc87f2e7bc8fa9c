// SPDX-License-Identifier: GPL-2.0-only
// zdtm: also damaged
// zdtm: dump-options --file-locks
// zdtm: restore-options --file-locks
// zdtm: fails-with-4.2(from-other) it loses locks set through a descriptor that another process has, too
#include <fcntl.h>

#include "zdtm.hpp"

namespace {

void lock(int fd, short type, off_t start, off_t length) {
    struct flock range {};
    range.l_type = type;
    range.l_start = start;
    range.l_len = length;
    SYS(fcntl(fd, F_SETLK, &range));
}

// Returns the lock that prevents a write lock on that byte.
struct flock holder(int fd, off_t at) {
    struct flock range {};
    range.l_type = F_WRLCK;
    range.l_start = at;
    range.l_len = 1;
    SYS(fcntl(fd, F_GETLK, &range));
    return range;
}

}  // namespace

ZDTM("POSIX locks of two processes through one description, a copy of it and one of their own") {
    const int shared = SYS(open("file", O_RDWR | O_CREAT, 0644));
    const int copy = SYS(dup(shared));
    const int other = SYS(open("other", O_RDWR | O_CREAT, 0644));
    lock(shared, F_WRLCK, 0, 10);
    lock(copy, F_RDLCK, 10, 5);
    lock(other, F_WRLCK, 100, 0);
    const pid_t parent = getpid();
    const pid_t child = me.start_child([=](zdtm::Task& task) {
        const int own = SYS(open("file", O_RDONLY));
        lock(shared, F_WRLCK, 20, 10);
        lock(own, F_RDLCK, 30, 1);
        task.wait_for_check();
        struct flock found = holder(shared, 3);
        CHECK(found.l_type == F_WRLCK && found.l_pid == parent && found.l_start == 0 && found.l_len == 10,
              "type %d of %d, %ld+%ld", found.l_type, found.l_pid, found.l_start, found.l_len);
        found = holder(shared, 12);
        CHECK(found.l_type == F_RDLCK && found.l_pid == parent, "type %d of %d", found.l_type, found.l_pid);
        found = holder(other, 1000000);
        CHECK(found.l_type == F_WRLCK && found.l_len == 0, "type %d, length %ld", found.l_type, found.l_len);
        CHECK(holder(other, 99).l_type == F_UNLCK, "byte 99 is locked");
    });
    me.wait_for_check();
    struct flock found = holder(shared, 29);
    CHECK(found.l_type == F_WRLCK && found.l_pid == child && found.l_start == 20, "type %d of %d", found.l_type,
          found.l_pid);
    found = holder(shared, 30);
    CHECK(found.l_type == F_RDLCK && found.l_pid == child, "type %d of %d", found.l_type, found.l_pid);
    CHECK(holder(shared, 31).l_type == F_UNLCK, "byte 31 is locked");
    me.finish(child);
    SYS(close(copy));
    CHECK(holder(shared, 12).l_type == F_UNLCK, "a closed copy leaves locks");
}
