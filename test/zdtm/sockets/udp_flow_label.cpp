// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes once,leave-running
// zdtm: warns sends with the IPv6 flow label 0x12345, which isn't kept.*loss: socket-state
// zdtm: fails-with-4.2 it says nothing
// zdtm: not-in all-killed, dump-killed
#include <linux/in6.h>

#include "inet_sockets.hpp"
#include "zdtm.hpp"

ZDTM("a dump warns of the flow label of a connected IPv6 socket") {
    zdtm::Inet to = zdtm::Inet::loopback(AF_INET6, 9);
    const int fd = socket(AF_INET6, SOCK_DGRAM, 0);
    in6_flowlabel_req label{};
    label.flr_dst = reinterpret_cast<const sockaddr_in6*>(&to.room)->sin6_addr;
    label.flr_label = htonl(0x12345);
    label.flr_action = IPV6_FL_A_GET;
    label.flr_share = IPV6_FL_S_ANY;
    label.flr_flags = IPV6_FL_F_CREATE;
    if (fd == -1 || setsockopt(fd, IPPROTO_IPV6, IPV6_FLOWLABEL_MGR, &label, sizeof label) == -1) {
        zdtm::skip("IPV6_FLOWLABEL_MGR: %s", strerror(errno));
    }
    zdtm::set_option(fd, IPPROTO_IPV6, IPV6_FLOWINFO_SEND, 1);
    reinterpret_cast<sockaddr_in6*>(&to.room)->sin6_flowinfo = label.flr_label;
    SYS(connect(fd, to.get(), to.length));
    me.wait_for_check();
}
