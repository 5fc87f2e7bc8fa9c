// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes refused
// zdtm: refused (?=.*pid 2\b)(?=.*fd 3\b).*io_uring with 1 request in flight
// zdtm: fails-with-4.2 its message does not say so
#include <sys/syscall.h>

#include "ring.hpp"
#include "zdtm.hpp"

ZDTM("an io_uring with a request in flight") {
    zdtm::Ring ring(4);
    CHECK(ring.fd() == 3, "descriptor %d", ring.fd());
    ring.spin(3);
    zdtm::WaitingRead read(ring);
    me.wait_for_check();
    read.finish();
    ring.spin(20);
}
