// SPDX-License-Identifier: GPL-2.0-only
// zdtm: fails-with-4.2 it arms what has fired for errors and hang-ups
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "zdtm.hpp"

namespace {
struct Polling {  // struct epoll_params, Linux 6.9
    std::uint32_t microseconds = 0;
    std::uint16_t budget = 0;
    std::uint8_t prefer = 0;
    std::uint8_t padding = 0;
};
constexpr unsigned long kSet = _IOW(0x8a, 1, Polling);
constexpr unsigned long kGet = _IOR(0x8a, 2, Polling);
}  // namespace

ZDTM(
    "a one-shot target that has fired stays silent, also at a hangup of its peer; the set's busy-poll parameters "
    "stay") {
    int pair[2];
    SYS(socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
    int other[2];
    SYS(pipe(other));
    const int epoll = SYS(epoll_create1(0));
    epoll_event armed{EPOLLIN, {.u64 = 2}};
    SYS(epoll_ctl(epoll, EPOLL_CTL_ADD, other[0], &armed));
    epoll_event shot{EPOLLIN | EPOLLONESHOT, {.u64 = 1}};
    SYS(epoll_ctl(epoll, EPOLL_CTL_ADD, pair[0], &shot));
    SYS(write(pair[1], "x", 1));
    epoll_event event{};
    CHECK(epoll_wait(epoll, &event, 1, 0) == 1 && event.data.u64 == 1, "it doesn't fire");
    SYS(write(other[1], "x", 1));
    Polling polling{70, 8, 0, 0};
    const bool polls = ioctl(epoll, kSet, &polling) == 0;
    me.wait_for_check();

    SYS(close(pair[1]));
    epoll_event events[2];
    CHECK(epoll_wait(epoll, events, 2, 0) == 1 && events[0].data.u64 == 2,
          "what has fired reports the end of its peer");
    CHECK(epoll_wait(epoll, events, 2, 0) == 1, "the other target is lost");
    shot.data.u64 = 3;
    SYS(epoll_ctl(epoll, EPOLL_CTL_MOD, pair[0], &shot));
    CHECK(epoll_wait(epoll, events, 2, 0) == 2, "it can't be armed");
    Polling now;
    CHECK(!polls || (ioctl(epoll, kGet, &now) == 0 && now.microseconds == 70 && now.budget == 8), "it polls %u us, %u",
          now.microseconds, now.budget);
}
