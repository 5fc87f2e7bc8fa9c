// SPDX-License-Identifier: GPL-2.0-only
// zdtm: not-in leave-running
#include <fcntl.h>

#include "zdtm.hpp"

ZDTM("open files in /proc, /sys and /dev/shm") {
    const int version = SYS(open("/proc/version", O_RDONLY));
    const int own = SYS(open("/proc/self/status", O_RDONLY));
    const int sys = SYS(open("/sys/kernel/mm/transparent_hugepage/enabled", O_RDONLY));
    char name[] = "/dev/shm/criu-test-XXXXXX";
    const int shm = SYS(mkstemp(name));
    CHECK(write(shm, "shared", 6) == 6, "%s", strerror(errno));
    char text[8] = {};
    CHECK(read(version, text, 3) == 3, "%s", strerror(errno));
    me.wait_for_check();

    CHECK(read(version, text, 5) == 5 && memcmp(text, "ux", 2) == 0, "read %s", text);
    CHECK(read(own, text, 5) == 5 && memcmp(text, "Name:", 5) == 0, "read %s", text);
    CHECK(read(sys, text, 1) == 1, "%s", strerror(errno));
    CHECK(pread(shm, text, 6, 0) == 6 && memcmp(text, "shared", 6) == 0, "read %s", text);
    CHECK(lseek(shm, 0, SEEK_CUR) == 6, "offset %ld", lseek(shm, 0, SEEK_CUR));
    SYS(unlink(name));
}
