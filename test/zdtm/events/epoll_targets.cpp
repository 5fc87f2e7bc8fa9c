// SPDX-License-Identifier: GPL-2.0-only
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <map>

#include "zdtm.hpp"

namespace {

void add(int epoll, int target, std::uint32_t events, std::uint64_t data) {
    epoll_event event{events, {.u64 = data}};
    SYS(epoll_ctl(epoll, EPOLL_CTL_ADD, target, &event));
}

std::map<std::uint64_t, std::uint32_t> ready(int epoll) {
    epoll_event events[16];
    const int count = SYS(epoll_wait(epoll, events, 16, 0));
    std::map<std::uint64_t, std::uint32_t> found;
    for (int i = 0; i < count; ++i) {
        found[events[i].data.u64] = events[i].events;
    }
    return found;
}

}  // namespace

ZDTM("an epoll set keeps targets, events and data; one file has two numbers in it, and sets nest") {
    const int epoll = SYS(epoll_create1(EPOLL_CLOEXEC));
    const int quiet = SYS(eventfd(0, 0));
    const int loud = SYS(eventfd(3, 0));
    const int twice = SYS(eventfd(0, 0));
    const int again = SYS(dup(twice));
    add(epoll, quiet, EPOLLIN, 1);
    add(epoll, loud, EPOLLIN | EPOLLONESHOT, 0xfedcba9876543210);
    add(epoll, twice, EPOLLIN | EPOLLET, 3);
    add(epoll, again, EPOLLIN | EPOLLEXCLUSIVE, 4);
    const int outer = SYS(epoll_create1(0));
    add(outer, epoll, EPOLLIN, 5);
    me.wait_for_check();

    CHECK(ready(outer) == (std::map<std::uint64_t, std::uint32_t>{{5, EPOLLIN}}), "the inner set isn't ready");
    CHECK(ready(epoll) == (std::map<std::uint64_t, std::uint32_t>{{0xfedcba9876543210, EPOLLIN}}), "other events");
    CHECK(ready(epoll).empty(), "one shot is more");
    CHECK(ready(outer).empty(), "the inner set is ready");
    SYS(eventfd_write(twice, 1));
    SYS(eventfd_write(quiet, 1));
    CHECK(ready(epoll) == (std::map<std::uint64_t, std::uint32_t>{{1, EPOLLIN}, {3, EPOLLIN}, {4, EPOLLIN}}),
          "other events");
    CHECK(ready(epoll) == (std::map<std::uint64_t, std::uint32_t>{{1, EPOLLIN}, {4, EPOLLIN}}),
          "the edge is reported again");
    SYS(epoll_ctl(epoll, EPOLL_CTL_DEL, again, nullptr));
    CHECK(ready(epoll) == (std::map<std::uint64_t, std::uint32_t>{{1, EPOLLIN}}), "other events");
}
