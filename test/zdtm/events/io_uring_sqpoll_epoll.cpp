// SPDX-License-Identifier: GPL-2.0-only
// zdtm: fails-with-4.2 it knows no io_uring
// zdtm: ignore thread .*, fd \d+ (SqThread|SqThreadCpu|SqTotalTime|SqWorkTime)
// The restored ring has another kernel thread. A target that has fired is armed for errors, which rings don't report.
// zdtm: may-differ fd \d+: target fd 100: events
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <set>

#include "ring.hpp"
#include "zdtm.hpp"

namespace {

void add(int epoll, int target, std::uint64_t mark, std::uint32_t how = 0) {
    epoll_event event{EPOLLIN | how, {.u64 = mark}};
    SYS(epoll_ctl(epoll, EPOLL_CTL_ADD, target, &event));
}

std::set<std::uint64_t> ready(int epoll) {
    epoll_event events[8];
    const int count = SYS(epoll_wait(epoll, events, 8, 0));
    std::set<std::uint64_t> marks;
    for (int i = 0; i < count; ++i)
        marks.insert(events[i].data.u64);
    return marks;
}

void post(zdtm::Ring& ring) {
    ring.queue(IORING_OP_NOP, 1);
    ring.submit(1);
}

}  // namespace

ZDTM("epoll targets that are rings with a kernel thread, under numbers that are closed or belong to other files") {
    const int elsewhere = SYS(epoll_create1(0));
    const pid_t child = me.start_child([elsewhere](zdtm::Task& task) {
        task.wait_for_check();
        epoll_event event{};
        CHECK(epoll_wait(elsewhere, &event, 1, 10'000) == 1 && event.data.u64 == 9, "the target was lost");
    });
    zdtm::Ring ring(4, IORING_SETUP_SQPOLL);
    const int epoll = SYS(epoll_create1(0));
    const int closed = SYS(dup(ring.fd()));
    const int reused = SYS(dup(ring.fd()));
    const int taken = SYS(dup(ring.fd()));
    add(epoll, ring.fd(), 1);
    add(epoll, closed, 2);
    add(epoll, reused, 3);
    add(epoll, taken, 4);
    add(epoll, SYS(dup2(ring.fd(), 100)), 5, EPOLLONESHOT);
    add(elsewhere, ring.fd(), 9);
    SYS(close(elsewhere));
    post(ring);
    CHECK(ready(epoll) == (std::set<std::uint64_t>{1, 2, 3, 4, 5}), "the rings aren't ready");
    CHECK(ring.take(1) == 0, "a request that does nothing");
    const int counter = SYS(eventfd(7, 0));
    SYS(close(closed));
    SYS(dup2(counter, reused));
    SYS(dup2(epoll, taken));
    me.wait_for_check();

    CHECK(ready(epoll).empty(), "a ring without completions is ready");
    post(ring);
    CHECK(ready(epoll) == (std::set<std::uint64_t>{1, 2, 3, 4}), "%zu targets are ready", ready(epoll).size());
    me.finish(child);
    CHECK(ring.take(1) == 0, "a request that does nothing");
    CHECK(ready(epoll).empty(), "a ring without completions is ready");
    eventfd_t count = 0;
    CHECK(eventfd_read(reused, &count) == 0 && count == 7, "another file has the number of a target");
    CHECK(ready(taken).empty(), "the epoll file has no second number");
}
