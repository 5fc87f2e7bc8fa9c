// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes refused
// zdtm: refused (?=.*fd 3\b).*io_uring that belongs to one of its threads
// zdtm: fails-with-4.2 its message does not say so
#include "ring.hpp"
#include "zdtm.hpp"

ZDTM("an io_uring of one thread (IORING_SETUP_SINGLE_ISSUER)") {
    zdtm::Ring ring(4, IORING_SETUP_SINGLE_ISSUER);
    ring.spin(3);
    me.wait_for_check();
    ring.spin(20);
}
