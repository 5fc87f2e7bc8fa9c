// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes refused
// zdtm: refused (?=.*fd 3\b).*io_uring .*\(IORING_SETUP_SQPOLL\).*target of an epoll file.*queue of a socket.*receive this file
// zdtm: fails-with-4.2 it knows no io_uring
#include <sys/epoll.h>
#include <sys/socket.h>

#include <cstring>

#include "ring.hpp"
#include "zdtm.hpp"

ZDTM("a dump refuses an epoll file in the queue of a socket that watches an io_uring with a kernel thread") {
    zdtm::Ring ring(4, IORING_SETUP_SQPOLL);
    const int epoll = SYS(epoll_create1(0));
    epoll_event event{EPOLLIN, {.u64 = 5}};
    SYS(epoll_ctl(epoll, EPOLL_CTL_ADD, ring.fd(), &event));
    int pair[2];
    SYS(socketpair(AF_UNIX, SOCK_STREAM, 0, pair));

    char byte = 'x';
    iovec data{&byte, 1};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
    msghdr message{};
    message.msg_iov = &data;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof(control);
    cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(header), &epoll, sizeof(int));
    SYS(sendmsg(pair[0], &message, 0));
    SYS(close(epoll));
    me.wait_for_check();

    CHECK(SYS(recvmsg(pair[1], &message, 0)) == 1, "the message was lost");
    int received = -1;
    std::memcpy(&received, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(int));
    ring.queue(IORING_OP_NOP, 1);
    ring.submit(1);
    CHECK(epoll_wait(received, &event, 1, 10'000) == 1 && event.data.u64 == 5, "the target was lost");
    CHECK(ring.take(1) == 0, "a request that does nothing");
}
