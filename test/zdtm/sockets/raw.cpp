// SPDX-License-Identifier: GPL-2.0-only
// zdtm: fails-with-4.2(to-other) it leaves out the address of ICMP sockets
#include <linux/icmp.h>
#include <netinet/ip.h>

#include <array>

#include "inet_sockets.hpp"
#include "zdtm.hpp"

ZDTM("raw sockets: protocol, address, peer, filter and IP_HDRINCL") {
    const int icmp = SYS(socket(AF_INET, SOCK_RAW, IPPROTO_ICMP));
    const icmp_filter filter{~(1U << ICMP_ECHOREPLY)};
    SYS(setsockopt(icmp, SOL_RAW, ICMP_FILTER, &filter, sizeof filter));
    const zdtm::Inet loopback = zdtm::Inet::loopback(AF_INET);
    SYS(bind(icmp, loopback.get(), loopback.length));
    const int own = SYS(socket(AF_INET, SOCK_RAW, 253));
    zdtm::set_option(own, IPPROTO_IP, IP_HDRINCL, 1);
    const int six = socket(AF_INET6, SOCK_RAW, 254);
    // Older kernels don't report this option.
    const int alerted = SYS(socket(AF_INET, SOCK_RAW, 252));
    zdtm::set_option(alerted, IPPROTO_IP, IP_ROUTER_ALERT, 1);
    const int alert = zdtm::get_option(alerted, IPPROTO_IP, IP_ROUTER_ALERT);
    me.wait_for_check();

    icmp_filter now{};
    socklen_t size = sizeof now;
    SYS(getsockopt(icmp, SOL_RAW, ICMP_FILTER, &now, &size));
    CHECK(now.data == filter.data, "the filter is %x", now.data);
    CHECK(zdtm::get_option(icmp, SOL_SOCKET, SO_PROTOCOL) == IPPROTO_ICMP, "another protocol");
    CHECK(zdtm::Inet::of(icmp).text().starts_with("127.0.0.1:"), "bound to %s", zdtm::Inet::of(icmp).text().c_str());
    CHECK(zdtm::get_option(own, IPPROTO_IP, IP_HDRINCL) == 1, "IP_HDRINCL is lost");
    CHECK(zdtm::get_option(own, SOL_SOCKET, SO_PROTOCOL) == 253, "another protocol");
    CHECK(zdtm::get_option(alerted, IPPROTO_IP, IP_ROUTER_ALERT) == alert, "IP_ROUTER_ALERT is lost");
    CHECK(six < 0 || zdtm::get_option(six, SOL_SOCKET, SO_PROTOCOL) == 254, "another protocol");
    icmphdr request{};
    request.type = ICMP_ECHO;
    request.checksum = static_cast<std::uint16_t>(~htons(ICMP_ECHO << 8));
    SYS(sendto(icmp, &request, sizeof request, 0, loopback.get(), loopback.length));
    std::array<char, 256> packet{};
    const ssize_t got = recv(icmp, packet.data(), packet.size(), 0);
    CHECK(got >= static_cast<ssize_t>(sizeof(iphdr) + sizeof(icmphdr)), "no answer: %zd", got);
    CHECK(packet[sizeof(iphdr)] == ICMP_ECHOREPLY, "an ICMP message of type %d", packet[sizeof(iphdr)]);
}
