// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes once, leave-running, pre-dump
// zdtm: warns 1 of 2 datagrams that wait in .* are dropped: it was sent to a multicast or broadcast address
// zdtm: fails-with-4.2 it drops both datagrams
#include "inet_sockets.hpp"
#include "zdtm.hpp"

ZDTM("a dump drops a datagram to a multicast group if the socket asks for its destination") {
    const int receiver = SYS(socket(AF_INET, SOCK_DGRAM, 0));
    zdtm::Inet any = zdtm::Inet::loopback(AF_INET);
    reinterpret_cast<sockaddr_in*>(&any.room)->sin_addr.s_addr = INADDR_ANY;
    SYS(bind(receiver, any.get(), any.length));
    zdtm::set_option(receiver, IPPROTO_IP, IP_PKTINFO, 1);
    ip_mreqn group{};
    group.imr_multiaddr.s_addr = htonl(0xe9fc0009);  // 233.252.0.9
    group.imr_address.s_addr = htonl(INADDR_LOOPBACK);
    group.imr_ifindex = 1;  // lo
    if (setsockopt(receiver, IPPROTO_IP, IP_ADD_MEMBERSHIP, &group, sizeof group) != 0)
        zdtm::skip("join a group: %s", strerror(errno));
    const int sender = SYS(socket(AF_INET, SOCK_DGRAM, 0));
    SYS(setsockopt(sender, IPPROTO_IP, IP_MULTICAST_IF, &group, sizeof group));
    zdtm::Inet to = zdtm::Inet::loopback(AF_INET, zdtm::Inet::of(receiver).port());
    SYS(sendto(sender, "one", 3, 0, to.get(), to.length));
    reinterpret_cast<sockaddr_in*>(&to.room)->sin_addr = group.imr_multiaddr;
    SYS(sendto(sender, "many", 4, 0, to.get(), to.length));
    me.wait_for_check();
    char text[16]{};
    CHECK(recv(receiver, text, sizeof(text), MSG_DONTWAIT) == 3 && std::string(text) == "one", "got %s", text);
    // A program that runs on after the dump still has the other datagram.
    (void)recv(receiver, text, sizeof(text), MSG_DONTWAIT);
}
