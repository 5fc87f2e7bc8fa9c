// SPDX-License-Identifier: GPL-2.0-only
// zdtm: fails-with-4.2 it knows no io_uring
#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/uio.h>

#include "ring.hpp"
#include "zdtm.hpp"

namespace {
constexpr unsigned in_file = 1;  // slot in the table of registered files
constexpr unsigned in_pipe = 3;

void read_fixed(zdtm::Ring& ring, std::span<std::byte> buffer, unsigned number, unsigned offset) {
    io_uring_sqe& request = ring.queue(IORING_OP_READ_FIXED, 7);
    request.fd = in_file;
    request.flags = IOSQE_FIXED_FILE;
    request.addr = reinterpret_cast<std::uintptr_t>(buffer.data());
    request.len = 10;
    request.off = offset;
    request.buf_index = static_cast<std::uint16_t>(number);
    ring.submit(1);
    const int result = ring.take(7);
    CHECK(result == 10, "read into a registered buffer: %d", result);
}
}  // namespace

ZDTM("io_uring: registered files and buffers, and an eventfd") {
    zdtm::Ring ring(8);
    const std::span<std::byte> one = zdtm::map(8192);
    const std::span<std::byte> other = zdtm::map(1 << 20);
    const iovec buffers[] = {{one.data(), one.size()}, {nullptr, 0}, {other.data() + 100, 65536}};
    ring.enroll(IORING_REGISTER_BUFFERS, buffers, 3);
    zdtm::write_file("some data", "0123456789abcdefghij");
    const int file = SYS(open("some data", O_RDONLY));
    int ends[2];
    SYS(pipe(ends));
    SYS(close(ends[0]));
    const int back = SYS(eventfd(0, EFD_NONBLOCK));
    const int files[] = {-1, file, -1, file, -1};
    ring.enroll(IORING_REGISTER_FILES, files, 5);
    ring.enroll(IORING_REGISTER_EVENTFD, &back, 1);
    read_fixed(ring, one, 0, 0);
    CHECK(memcmp(one.data(), "0123456789", 10) == 0, "%.10s", reinterpret_cast<char*>(one.data()));
    eventfd_t count = 0;
    SYS(eventfd_read(back, &count));
    const pid_t child = me.start_child([](zdtm::Task& task) { task.wait_for_check(); });
    me.wait_for_check();

    read_fixed(ring, other.subspan(200), 2, 10);
    CHECK(memcmp(other.data() + 200, "abcdefghij", 10) == 0, "%.10s", reinterpret_cast<char*>(other.data() + 200));
    CHECK(eventfd_read(back, &count) == 0 && count == 1, "the eventfd has %llu",
          static_cast<unsigned long long>(count));
    read_fixed(ring, one, 0, 5);
    CHECK(memcmp(one.data(), "56789abcde", 10) == 0, "%.10s", reinterpret_cast<char*>(one.data()));
    io_uring_sqe& request = ring.queue(IORING_OP_READ, 8);
    request.fd = in_pipe;
    request.flags = IOSQE_FIXED_FILE;
    char byte = 0;
    request.addr = reinterpret_cast<std::uintptr_t>(&byte);
    request.len = 1;
    ring.submit(1);
    CHECK(ring.take(8) == 1 && byte == '0', "read %c", byte);
    io_uring_sqe& empty = ring.queue(IORING_OP_READ, 9);
    empty.fd = 2;
    empty.flags = IOSQE_FIXED_FILE;
    empty.addr = reinterpret_cast<std::uintptr_t>(&byte);
    empty.len = 1;
    ring.submit(1);
    CHECK(ring.take(9) == -EBADF, "a place without a file");
    ring.enroll(IORING_UNREGISTER_BUFFERS, nullptr, 0);
    ring.enroll(IORING_UNREGISTER_FILES, nullptr, 0);
    ring.enroll(IORING_UNREGISTER_EVENTFD, nullptr, 0);
    me.finish(child);
}
