// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes refused
// zdtm: refused process 2\b.*32-bit process with an io_uring
// zdtm: fails-with-4.2 its message does not say so
#include "ring.hpp"
#include "zdtm.hpp"

ZDTM("an io_uring of a 32-bit program") {
    zdtm::Ring ring(4);
    ring.spin(5);
    me.wait_for_check();
    ring.spin(5);
}
