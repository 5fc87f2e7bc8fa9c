// SPDX-License-Identifier: GPL-2.0-only
// zdtm: fails-with-4.2 it wants the target in the same process
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include "zdtm.hpp"

ZDTM("an epoll target is open only in another process, under another number") {
    const int epoll = SYS(epoll_create1(0));
    const int target = SYS(eventfd(0, 0));
    epoll_event event{EPOLLIN, {.u64 = 5}};
    SYS(epoll_ctl(epoll, EPOLL_CTL_ADD, target, &event));
    int gate[2];
    SYS(pipe(gate));
    const pid_t child = me.start_child([&](zdtm::Task& task) {
        const int moved = SYS(dup2(target, 100));
        SYS(close(target));
        SYS(close(epoll));
        task.wait_for_check();
        SYS(eventfd_write(moved, 1));
        char byte = 0;
        SYS(close(gate[1]));
        SYS(read(gate[0], &byte, 1));  // The file exists until the parent has read the event.
    });
    SYS(close(target));
    me.wait_for_check();

    epoll_event got{};
    CHECK(epoll_wait(epoll, &got, 1, 0) == 0, "an event too early");
    SYS(kill(child, SIGTERM));
    CHECK(epoll_wait(epoll, &got, 1, 10000) == 1 && got.data.u64 == 5, "the target was lost");
    SYS(close(gate[1]));
    CHECK(zdtm::wait_status(child) == 0, "the child failed");
}
