// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes refused
// zdtm: refused (?=.*fd 3\b).*io_uring with 1 request in flight
// zdtm: fails-with-4.2 its message does not say so
// zdtm: ignore thread .*
#include <fcntl.h>
#include <sys/stat.h>

#include "ring.hpp"
#include "zdtm.hpp"

ZDTM("an io_uring whose worker thread sleeps in a system call") {
    zdtm::Ring ring(4);
    SYS(mkfifo("fifo", 0600));
    io_uring_sqe& request = ring.queue(IORING_OP_OPENAT, 1);
    request.fd = AT_FDCWD;
    request.flags = IOSQE_ASYNC;
    request.addr = reinterpret_cast<std::uintptr_t>("fifo");
    request.open_flags = O_RDONLY;
    ring.submit();
    usleep(50'000);
    me.wait_for_check();
    CHECK(ring.waiting() == 0, "the request has ended: %d", ring.take(1));
    const int writer = SYS(open("fifo", O_WRONLY));
    ring.submit(1);
    const int reader = ring.take(1);
    CHECK(reader >= 0, "%s", strerror(-reader));
    SYS(write(writer, "x", 1));
    char byte = 0;
    CHECK(read(reader, &byte, 1) == 1 && byte == 'x', "read %d", byte);
}
