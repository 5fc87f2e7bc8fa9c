// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes refused
// zdtm: refused (?=.*fd \d+ of pid 2\b).*netlink socket with messages that wait.*\(try again when the program has read them
// zdtm: fails-with-4.2 its message does not say so
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include "zdtm.hpp"

ZDTM("a dump refuses a netlink socket with an unread answer of the kernel") {
    const int fd = SYS(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE));
    struct {
        nlmsghdr head{};
        ifinfomsg body{};
    } request;
    request.head.nlmsg_len = sizeof(request);
    request.head.nlmsg_type = RTM_GETLINK;
    request.head.nlmsg_flags = NLM_F_REQUEST;
    request.body.ifi_index = 1;  // loopback
    SYS(send(fd, &request, sizeof(request), 0));
    me.wait_for_check();
    alignas(nlmsghdr) char answer[8192];
    const auto size = static_cast<std::size_t>(SYS(recv(fd, answer, sizeof(answer), MSG_DONTWAIT)));
    const auto& head = *reinterpret_cast<const nlmsghdr*>(answer);
    CHECK(size >= sizeof(head) && head.nlmsg_type == RTM_NEWLINK, "an answer of type %u", head.nlmsg_type);
}
