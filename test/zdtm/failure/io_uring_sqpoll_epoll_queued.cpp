// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes refused
// zdtm: refused (?=.*fd 3\b).*io_uring .*\(IORING_SETUP_SQPOLL\).*target of an epoll file.*queue of a socket.*receive this file
// zdtm: fails-with-4.2 it knows no io_uring
#include <sys/epoll.h>

#include "ring.hpp"
#include "unix_sockets.hpp"
#include "zdtm.hpp"

ZDTM("a dump refuses an epoll file in the queue of a socket that watches an io_uring with a kernel thread") {
    zdtm::Ring ring(4, IORING_SETUP_SQPOLL);
    const int epoll = SYS(epoll_create1(0));
    epoll_event event{EPOLLIN, {.u64 = 5}};
    SYS(epoll_ctl(epoll, EPOLL_CTL_ADD, ring.fd(), &event));
    const zdtm::Pair pair = zdtm::make_pair_of(SOCK_STREAM);
    zdtm::send_message(pair.one, "x", {epoll});
    SYS(close(epoll));
    me.wait_for_check();

    const zdtm::Message message = zdtm::receive(pair.other);
    CHECK(message == "x" && message.descriptors.size() == 1, "the message was lost");
    ring.queue(IORING_OP_NOP, 1);
    ring.submit(1);
    CHECK(epoll_wait(message.descriptors[0], &event, 1, 10'000) == 1 && event.data.u64 == 5, "the target was lost");
    CHECK(ring.take(1) == 0, "a request that does nothing");
}
