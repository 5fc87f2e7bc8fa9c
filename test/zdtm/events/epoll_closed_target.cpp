// SPDX-License-Identifier: GPL-2.0-only
// zdtm: fails-with-4.2 it adds the target under another number of the file
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include "zdtm.hpp"

ZDTM("an epoll target whose number was closed and reused by another file, while a duplicate is open") {
    const int epoll = SYS(epoll_create1(0));
    const int target = SYS(eventfd(0, 0));
    const int duplicate = SYS(dup(target));
    epoll_event event{EPOLLIN, {.u64 = 77}};
    SYS(epoll_ctl(epoll, EPOLL_CTL_ADD, target, &event));
    const int other = SYS(eventfd(1, 0));
    SYS(dup2(other, target));
    me.wait_for_check();

    epoll_event got{};
    CHECK(epoll_wait(epoll, &got, 1, 0) == 0, "the file that took the number is in the set");
    SYS(eventfd_write(duplicate, 1));
    CHECK(epoll_wait(epoll, &got, 1, 0) == 1 && got.data.u64 == 77, "the target was lost");
    std::uint64_t count = 0;
    CHECK(read(target, &count, sizeof count) == sizeof count && count == 1, "another file at the number: %lu", count);
    // The kernel identifies a target by file and by the number at EPOLL_CTL_ADD.
    CHECK(epoll_ctl(epoll, EPOLL_CTL_DEL, duplicate, nullptr) == -1 && errno == ENOENT, "it has the other number");
    SYS(dup2(duplicate, target));
    SYS(epoll_ctl(epoll, EPOLL_CTL_DEL, target, nullptr));
}
