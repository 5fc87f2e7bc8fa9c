// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes refused
// zdtm: refused (?=.*pid 2\b)(?=.*fd 3\b).*io_uring
// zdtm: fails-with-4.2 its message does not say so
#include <linux/io_uring.h>
#include <sys/syscall.h>

#include "zdtm.hpp"

ZDTM("an io_uring is refused by name") {
    io_uring_params parameters{};
    const long ring = syscall(SYS_io_uring_setup, 4, &parameters);
    if (ring < 0) {
        zdtm::skip("io_uring_setup: %s", strerror(errno));
    }
    CHECK(ring == 3, "descriptor %ld", ring);
    me.wait_for_check();
    CHECK(syscall(SYS_io_uring_enter, ring, 0, 0, 0, nullptr, 0) == 0, "%s", strerror(errno));
}
