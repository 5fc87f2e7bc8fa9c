// SPDX-License-Identifier: GPL-2.0-only
// zdtm: fails-with-4.2 it knows no io_uring
#include "ring.hpp"
#include "zdtm.hpp"

namespace {
void complete(zdtm::Ring& ring, unsigned first, unsigned count) {
    for (unsigned i = 0; i < count; ++i) {
        // Queues a request that fails with -EBADF.
        ring.queue(IORING_OP_CLOSE, first + i).fd = 999;
        ring.submit(1);
    }
}
}  // namespace

ZDTM("io_uring: unread completions and requests that are not submitted, at all positions of the ring") {
    zdtm::Ring few(8);
    zdtm::Ring many(8);
    zdtm::Ring full(8, IORING_SETUP_CQE32);
    few.spin(13);
    many.spin(20);
    full.spin(27);
    complete(few, 100, 2);
    complete(many, 200, 14);
    complete(full, 300, 16);
    few.queue(IORING_OP_NOP, 500);
    few.queue(IORING_OP_CLOSE, 501).fd = 999;
    me.wait_for_check();

    CHECK(few.waiting() == 2 && many.waiting() == 14 && full.waiting() == 16, "%u, %u and %u completions",
          few.waiting(), many.waiting(), full.waiting());
    few.submit(4);
    for (unsigned i = 0; i < 2; ++i) {
        CHECK(few.take(100 + i) == -EBADF, "completion %u", i);
    }
    CHECK(few.take(500) == 0 && few.take(501) == -EBADF, "the requests that were queued");
    // New completions must not overwrite unread ones.
    complete(many, 214, 2);
    complete(full, 316, 2);
    for (unsigned i = 0; i < 16; ++i) {
        CHECK(many.take(200 + i) == -EBADF, "completion %u", i);
        CHECK(full.take(300 + i) == -EBADF, "completion %u", i);
    }
    full.submit(1);
    CHECK(full.take(316) == -EBADF && full.take(317) == -EBADF, "completions of the overflow list");
    few.spin(40);
    many.spin(40);
    full.spin(40);
}
