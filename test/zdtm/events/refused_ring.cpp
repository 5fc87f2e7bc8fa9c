// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes refused
// zdtm: refused fd \d+ of pid \d+ .*is an io_uring.*io_uring_disabled
#include <linux/io_uring.h>
#include <sys/syscall.h>

#include "zdtm.hpp"

ZDTM("an io_uring is refused, with a hint how to do without") {
    io_uring_params parameters{};
    if (syscall(SYS_io_uring_setup, 4, &parameters) == -1) {
        zdtm::skip("no io_uring here: %s", strerror(errno));
    }
    me.wait_for_check();
}
