// SPDX-License-Identifier: GPL-2.0-only
// zdtm: fails-with-4.2 it knows no io_uring
#include "ring.hpp"
#include "zdtm.hpp"

ZDTM("io_uring: used rings of several kinds keep their counters") {
    zdtm::Ring small(8);
    zdtm::Ring fresh(64);
    zdtm::Ring wide(4, IORING_SETUP_SQE128 | IORING_SETUP_CQE32);
    zdtm::Ring direct(16, zdtm::Ring::no_array);
    small.spin(1003);
    wide.spin(5);
    direct.spin(37);
    me.wait_for_check();

    small.spin(21);
    fresh.spin(130);
    wide.spin(21);
    direct.spin(50);
    // Completes one request more than the ring holds. The kernel keeps the last one in its overflow list.
    const unsigned most = small.parameters().cq_entries;
    for (unsigned i = 0; i <= most; ++i) {
        small.queue(IORING_OP_NOP, i);
        small.submit();
    }
    for (unsigned i = 0; i < most; ++i) {
        small.take(i);
    }
    small.submit(1);
    small.take(most);
}
