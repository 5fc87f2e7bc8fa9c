// SPDX-License-Identifier: GPL-2.0-only
// zdtm: fails-with-4.2 it knows no io_uring
// zdtm: ignore thread .*, fd \d+ (SqThread|SqThreadCpu|SqTotalTime|SqWorkTime)
// The restored ring has another kernel thread.
#include <fcntl.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "ring.hpp"
#include "threads.hpp"
#include "zdtm.hpp"

namespace {

// Returns the value of this key in the fdinfo of a ring. The kernel shows none while it submits requests.
std::string thread_of(const zdtm::Ring& ring, const char* key) {
    for (;;) {
        std::string value = zdtm::status_field("/proc/self/fdinfo/" + std::to_string(ring.fd()), key);
        if (!value.empty() && value != "-1")
            return value;
        usleep(1000);
    }
}

void read_registered(zdtm::Ring& ring, std::span<std::byte> buffer, unsigned offset) {
    io_uring_sqe& request = ring.queue(IORING_OP_READ_FIXED, 7);
    request.fd = 1;
    request.flags = IOSQE_FIXED_FILE;
    request.addr = reinterpret_cast<std::uintptr_t>(buffer.data());
    request.len = 4;
    request.off = offset;
    ring.submit(1);
    const int result = ring.take(7);
    CHECK(result == 4, "read into a registered buffer: %d", result);
}

}  // namespace

ZDTM("io_uring: kernel threads submit the requests of rings (IORING_SETUP_SQPOLL)") {
    io_uring_params wanted{};
    wanted.flags = IORING_SETUP_SQPOLL;
    wanted.sq_thread_idle = 1;  // milliseconds
    zdtm::Ring sleepy(8, wanted);
    wanted.sq_thread_idle = 600'000;
    zdtm::Ring awake(4, wanted);
    // The two rings use the same kernel thread.
    wanted.flags |= IORING_SETUP_ATTACH_WQ;
    wanted.wq_fd = static_cast<std::uint32_t>(awake.fd());
    zdtm::Ring other(16, wanted);
    wanted.flags = IORING_SETUP_SQPOLL | IORING_SETUP_SQ_AFF;
    wanted.sq_thread_idle = 0;
    wanted.sq_thread_cpu = static_cast<std::uint32_t>(sched_getcpu());
    zdtm::Ring bound(4, wanted);

    zdtm::write_file("some data", "0123456789");
    const int file = SYS(open("some data", O_RDONLY));
    const int files[] = {-1, file};
    sleepy.enroll(IORING_REGISTER_FILES, files, 2);
    const std::span<std::byte> buffer = zdtm::map(4096);
    const iovec buffers[] = {{buffer.data(), buffer.size()}};
    sleepy.enroll(IORING_REGISTER_BUFFERS, buffers, 1);
    const int counter = SYS(eventfd(0, EFD_NONBLOCK));
    sleepy.enroll(IORING_REGISTER_EVENTFD, &counter, 1);
    const int epoll = SYS(epoll_create1(EPOLL_CLOEXEC));
    epoll_event event{EPOLLIN, {.u64 = 77}};
    SYS(epoll_ctl(epoll, EPOLL_CTL_ADD, awake.fd(), &event));
    const int copy = SYS(dup(awake.fd()));

    sleepy.spin(1003);
    read_registered(sleepy, buffer, 2);
    awake.spin(21);
    other.spin(5);
    bound.spin(9);
    for (unsigned i = 0; i < 3; ++i)
        other.queue(IORING_OP_NOP, i);
    other.submit(3);
    eventfd_t count = 0;
    SYS(eventfd_read(counter, &count));
    while (!sleepy.sleeps() || zdtm::ring_threads() != 3)
        usleep(1000);
    zdtm::Threads threads(
        1, [](unsigned) {}, [&](unsigned) { bound.spin(50); });
    me.wait_for_check();

    CHECK(zdtm::ring_threads() == 3, "%u kernel threads", zdtm::ring_threads());
    CHECK(thread_of(awake, "SqThread") == thread_of(other, "SqThread"), "the two rings have different threads");
    CHECK(thread_of(awake, "SqThread") != thread_of(sleepy, "SqThread"), "all rings have the same thread");
    CHECK(thread_of(bound, "SqThreadCpu") == std::to_string(wanted.sq_thread_cpu), "the thread has another processor");
    CHECK(epoll_wait(epoll, &event, 1, 0) == 0, "a ring without completions is ready");
    for (unsigned i = 0; i < 3; ++i)
        CHECK(other.take(i) == 0, "completion %u", i);
    for (int round = 0; round < 3; ++round) {
        sleepy.spin(21);
        awake.spin(21);
        other.spin(40);
        usleep(20'000);  // the kernel thread of the first ring falls asleep
    }
    read_registered(sleepy, buffer, 5);
    CHECK(memcmp(buffer.data(), "5678", 4) == 0, "read %.4s", reinterpret_cast<char*>(buffer.data()));
    CHECK(eventfd_read(counter, &count) == 0 && count >= 64, "the eventfd has %llu",
          static_cast<unsigned long long>(count));
    awake.queue(IORING_OP_NOP, 5);
    awake.submit();
    CHECK(epoll_wait(epoll, &event, 1, -1) == 1 && event.data.u64 == 77, "epoll reports another ring");
    CHECK(awake.take(5) == 0, "a request that does nothing");
    SYS(syscall(SYS_io_uring_enter, copy, 0, 0, IORING_ENTER_SQ_WAKEUP, nullptr, std::size_t{0}));
    threads.finish();
    sleepy.enroll(IORING_UNREGISTER_BUFFERS, nullptr, 0);
    sleepy.enroll(IORING_UNREGISTER_FILES, nullptr, 0);
}
