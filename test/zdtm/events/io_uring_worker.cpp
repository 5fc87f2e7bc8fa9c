// SPDX-License-Identifier: GPL-2.0-only
// zdtm: fails-with-4.2 it knows no io_uring
// zdtm: ignore thread .*
// The kernel creates worker threads on demand, so a restored process has none.
#include <fcntl.h>

#include "ring.hpp"
#include "threads.hpp"
#include "zdtm.hpp"

namespace {
void read_by_worker(zdtm::Ring& ring, int file) {
    char text[5] = {};
    io_uring_sqe& request = ring.queue(IORING_OP_READ, 3);
    request.fd = file;
    request.flags = IOSQE_ASYNC;
    request.addr = reinterpret_cast<std::uintptr_t>(text);
    request.len = 4;
    ring.submit(1);
    CHECK(ring.take(3) == 4 && strcmp(text, "data") == 0, "read %s", text);
}

std::string threads_of_self() {
    return zdtm::status_field("/proc/self/status", "Threads");
}
}  // namespace

ZDTM("io_uring: a process with a worker thread of the kernel") {
    zdtm::write_file("file", "data");
    const int file = SYS(open("file", O_RDONLY));
    zdtm::Ring ring(8);
    zdtm::Threads threads(
        1, [](unsigned) {}, [](unsigned) {});
    read_by_worker(ring, file);
    CHECK(threads_of_self() != "2", "the kernel made no thread");
    me.wait_for_check();
    read_by_worker(ring, file);
    threads.finish();
}
