// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes refused
// zdtm: refused (?=.*fd 3\b).*io_uring .*\(IORING_SETUP_IOPOLL\)
// zdtm: fails-with-4.2 its message does not say so
#include <sys/syscall.h>

#include "ring.hpp"
#include "zdtm.hpp"

ZDTM("a dump refuses an io_uring that polls for completions") {
    zdtm::Ring ring(4, IORING_SETUP_IOPOLL);
    me.wait_for_check();
    SYS(syscall(SYS_io_uring_enter, ring.fd(), 0, 0, 0, nullptr, 0));
    CHECK(ring.waiting() == 0, "%u completions", ring.waiting());
}
