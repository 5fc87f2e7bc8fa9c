// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes refused
// zdtm: refused (?=.*fd 3\b).*io_uring with a group of provided buffers \(60000\)
// zdtm: fails-with-4.2 its message does not say so
#include "ring.hpp"
#include "zdtm.hpp"

ZDTM("an io_uring of one thread (IORING_SETUP_SINGLE_ISSUER) with provided buffers") {
    zdtm::Ring ring(4, IORING_SETUP_SINGLE_ISSUER);
    static char buffers[2][512];
    io_uring_sqe& request = ring.queue(IORING_OP_PROVIDE_BUFFERS, 1);
    request.fd = 2;
    request.addr = reinterpret_cast<std::uintptr_t>(buffers);
    request.len = sizeof(buffers[0]);
    request.buf_group = 60000;
    ring.submit(1);
    CHECK(ring.take(1) >= 0, "the kernel takes no buffers");
    me.wait_for_check();
    ring.spin(20);
}
