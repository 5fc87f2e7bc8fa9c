// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes refused
// zdtm: refused (?=.*pid 2\b)(?=.*fd 3\b).*io_uring with 1 request in flight
// zdtm: fails-with-4.2 its message does not say so
#include "ring.hpp"
#include "zdtm.hpp"

ZDTM("a dump refuses an io_uring whose kernel thread has a request in flight") {
    zdtm::Ring ring(4, IORING_SETUP_SQPOLL);
    ring.spin(3);
    zdtm::WaitingRead read(ring);
    me.wait_for_check();
    read.finish();
    ring.spin(20);
}
