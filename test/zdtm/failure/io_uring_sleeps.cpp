// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes refused
// zdtm: refused (?=.*fd 3\b).*io_uring with 1 request in flight
// zdtm: fails-with-4.2 its message does not say so
#include "ring.hpp"
#include "zdtm.hpp"

ZDTM("an io_uring with a timeout request, which /proc doesn't show") {
    zdtm::Ring ring(4);
    struct {
        std::int64_t seconds = 3600;
        long long nanoseconds = 0;
    } limit;
    io_uring_sqe& request = ring.queue(IORING_OP_TIMEOUT, 1);
    request.addr = reinterpret_cast<std::uintptr_t>(&limit);
    request.len = 1;
    ring.submit();
    me.wait_for_check();
    ring.queue(IORING_OP_TIMEOUT_REMOVE, 2).addr = 1;
    ring.submit(2);
    CHECK(ring.waiting() == 2, "%u completions", ring.waiting());
}
