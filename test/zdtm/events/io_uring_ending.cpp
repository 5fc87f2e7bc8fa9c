// SPDX-License-Identifier: GPL-2.0-only
// zdtm: fails-with-4.2 it knows no io_uring
// zdtm: ignore thread .*, fd 3 (\d+|CQEs|CachedCqTail|CqTail)
#include <fcntl.h>
#include <linux/time_types.h>
#include <unistd.h>

#include "ring.hpp"
#include "zdtm.hpp"

ZDTM("an io_uring with requests in flight that end without an action of the program") {
    zdtm::Ring ring(16);
    const int file = SYS(open("data", O_RDWR | O_CREAT, 0600));
    SYS(write(file, "0123456789", 10));
    char bytes[11] = {};
    // The kernel ends the timeout while the program is frozen, as a disk ends a read.
    __kernel_timespec span{0, 600'000'000};
    io_uring_sqe& timeout = ring.queue(IORING_OP_TIMEOUT, 1);
    timeout.addr = reinterpret_cast<std::uintptr_t>(&span);
    timeout.len = 1;
    // The kernel starts the next request of the chain on behalf of the program.
    timeout.flags = IOSQE_IO_HARDLINK;
    io_uring_sqe& read = ring.queue(IORING_OP_READ, 2);
    read.fd = file;
    read.addr = reinterpret_cast<std::uintptr_t>(bytes);
    read.len = 10;
    ring.submit();
    CHECK(ring.waiting() == 0, "the request has ended already: %d", ring.take(1));
    me.wait_for_check();

    ring.submit(ring.waiting() < 2 ? 2 - ring.waiting() : 0);
    int result = ring.take(1);
    CHECK(result == -ETIME, "the timeout: %d", result);
    result = ring.take(2);
    CHECK(result == 10 && strcmp(bytes, "0123456789") == 0, "the read: %d, '%s'", result, bytes);
    ring.queue(IORING_OP_NOP, 3);
    ring.submit(1);
    CHECK(ring.take(3) == 0, "no further requests");
}
