// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes refused
// zdtm: refused fd 3 of pid \d+ .*XDP
// zdtm: fails-with-4.2 its message names no pid
#include <fcntl.h>
#include <sys/socket.h>

#include "zdtm.hpp"

ZDTM("a dump refuses a socket of an unknown family; the error names it") {
    const int fd = socket(AF_XDP, SOCK_RAW, 0);
    if (fd < 0) {
        zdtm::skip("no AF_XDP: %s", strerror(errno));
    }
    me.wait_for_check();
    CHECK(fcntl(fd, F_GETFD) >= 0, "it is gone");
}
