// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes refused
// zdtm: refused (?=.*pid 2\b)(?=.*fd 3\b).*io_uring with 1 request in flight
// zdtm: fails-with-4.2 its message does not say so
#include "ring.hpp"
#include "zdtm.hpp"

ZDTM("a dump refuses an io_uring whose kernel thread has a request in flight") {
    zdtm::Ring ring(4, IORING_SETUP_SQPOLL);
    ring.spin(3);
    int ends[2];
    SYS(pipe(ends));
    char byte = 0;
    io_uring_sqe& request = ring.queue(IORING_OP_READ, 1);
    request.fd = ends[0];
    request.addr = reinterpret_cast<std::uintptr_t>(&byte);
    request.len = 1;
    ring.submit();
    me.wait_for_check();
    SYS(write(ends[1], "x", 1));
    ring.submit(1);
    CHECK(ring.take(1) == 1 && byte == 'x', "read %d", byte);
    ring.spin(20);
}
