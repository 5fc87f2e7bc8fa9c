// SPDX-License-Identifier: GPL-2.0-only
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "zdtm.hpp"

ZDTM("/dev/null, zero, full, random and urandom") {
    const char* const names[] = {"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"};
    int files[5];
    for (unsigned i = 0; i < 5; ++i) {
        files[i] = SYS(open(names[i], O_RDWR | (i % 2 == 0 ? O_NONBLOCK : O_APPEND)));
    }
    // Another node with the same device number is the same device.
    SYS(mknod("node", S_IFCHR | 0600, makedev(1, 5)));
    const int node = SYS(open("node", O_RDONLY));
    me.wait_for_check();

    char text[16] = {};
    CHECK(read(files[0], text, 1) == 0 && write(files[0], "x", 1) == 1, "null: %s", strerror(errno));
    CHECK(read(files[1], text, sizeof text) == sizeof text && text[7] == 0, "zero: %s", strerror(errno));
    CHECK(write(files[2], "x", 1) == -1 && errno == ENOSPC, "full: %s", strerror(errno));
    CHECK(read(files[3], text, 1) == 1, "random: %s", strerror(errno));
    CHECK(read(files[4], text, sizeof text) == sizeof text, "urandom: %s", strerror(errno));
    CHECK(read(node, text, 4) == 4 && text[0] == 0, "node: %s", strerror(errno));
    for (unsigned i = 0; i < 5; ++i) {
        const int flag = i % 2 == 0 ? O_NONBLOCK : O_APPEND;
        CHECK((fcntl(files[i], F_GETFL) & flag) != 0, "%s: flags 0%o", names[i], fcntl(files[i], F_GETFL));
    }
}
