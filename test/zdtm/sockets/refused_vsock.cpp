// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes refused
// zdtm: refused fd 3 of pid \d+ .*vsock
// zdtm: fails-with-4.2 its message names no pid
#include <fcntl.h>
#include <sys/socket.h>

#include "zdtm.hpp"

ZDTM("a socket to another virtual machine is refused by its kind") {
    const int fd = socket(AF_VSOCK, SOCK_STREAM, 0);
    if (fd < 0) {
        zdtm::skip("no vsock: %s", strerror(errno));
    }
    me.wait_for_check();
    CHECK(fcntl(fd, F_GETFD) >= 0, "it is gone");
}
