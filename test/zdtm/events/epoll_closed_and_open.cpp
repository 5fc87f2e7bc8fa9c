// SPDX-License-Identifier: GPL-2.0-only
// zdtm: fails-with-4.2 it adds the target twice by the number that is left
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include "zdtm.hpp"

ZDTM("an epoll set has one file under two descriptor numbers, one of them closed") {
    const int epoll = SYS(epoll_create1(0));
    const int target = SYS(eventfd(0, 0));
    const int duplicate = SYS(dup(target));
    epoll_event event{EPOLLIN, {.u64 = 1}};
    SYS(epoll_ctl(epoll, EPOLL_CTL_ADD, target, &event));
    event.data.u64 = 2;
    SYS(epoll_ctl(epoll, EPOLL_CTL_ADD, duplicate, &event));
    SYS(close(target));
    me.wait_for_check();

    SYS(eventfd_write(duplicate, 1));
    epoll_event got[3] = {};
    CHECK(epoll_wait(epoll, got, 3, 0) == 2 && got[0].data.u64 + got[1].data.u64 == 3, "a target was lost");
    CHECK(fcntl(target, F_GETFD) == -1 && errno == EBADF, "the closed number is open");
    // The kernel identifies a target by file and by the number at EPOLL_CTL_ADD.
    CHECK(dup(duplicate) == target, "%s", strerror(errno));
    SYS(epoll_ctl(epoll, EPOLL_CTL_DEL, target, nullptr));
    CHECK(epoll_wait(epoll, got, 3, 0) == 1 && got[0].data.u64 == 2, "the wrong target was taken out");
}
