// SPDX-License-Identifier: GPL-2.0-only
// zdtm: fails-with-4.2 it leaves out some options
#include <linux/udp.h>
#include <time.h>

#include "inet_sockets.hpp"
#include "zdtm.hpp"

namespace {
constexpr int kTxTime = 61;          // SO_TXTIME
constexpr int kTimestampNsNew = 64;  // SO_TIMESTAMPNS_NEW

struct SendTimes {  // struct sock_txtime
    int clock = 0;
    unsigned flags = 0;
};

int bound(int family) {
    const int fd = SYS(socket(family, SOCK_DGRAM, 0));
    if (family == AF_INET6) {
        zdtm::set_option(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1);
    }
    const zdtm::Inet where = zdtm::Inet::loopback(family);
    if (bind(fd, where.get(), where.length) != 0) {
        zdtm::skip("bind: %s", strerror(errno));
    }
    return fd;
}
}  // namespace

ZDTM("UDP sockets: bound, connected, connected to each other, shut down, with IPv4 and IPv6 options") {
    const int one = bound(AF_INET);
    const int other = bound(AF_INET);
    const zdtm::Inet there = zdtm::Inet::of(other);
    SYS(connect(one, there.get(), there.length));
    zdtm::set_option(one, SOL_SOCKET, SO_BROADCAST, 1);
    zdtm::set_option(one, IPPROTO_IP, IP_PKTINFO, 1);
    zdtm::set_option(one, IPPROTO_IP, IP_RECVTOS, 1);
    zdtm::set_option(one, IPPROTO_IP, IP_MULTICAST_TTL, 9);
    zdtm::set_option(one, IPPROTO_IP, IP_MULTICAST_LOOP, 0);
    zdtm::set_option(one, IPPROTO_UDP, UDP_SEGMENT, 1200);
    zdtm::set_option(other, IPPROTO_UDP, UDP_GRO, 1);
    const int six = bound(AF_INET6);
    zdtm::set_option(six, IPPROTO_IPV6, IPV6_TCLASS, 0x20);
    zdtm::set_option(six, IPPROTO_IPV6, IPV6_UNICAST_HOPS, 7);
    zdtm::set_option(six, IPPROTO_IPV6, IPV6_RECVPKTINFO, 1);
    zdtm::set_option(six, IPPROTO_IPV6, IPV6_RECVHOPLIMIT, 1);
    zdtm::set_option(six, IPPROTO_IPV6, IPV6_2292PKTINFO, 1);
    const unsigned char padding[8] = {0, 0, 1, 4, 0, 0, 0, 0};  // destination options header without content
    SYS(setsockopt(six, IPPROTO_IPV6, IPV6_DSTOPTS, padding, sizeof padding));
    zdtm::set_option(six, SOL_SOCKET, kTimestampNsNew, 1);
    const int timed = SYS(socket(AF_INET, SOCK_DGRAM, 0));
    const SendTimes times{CLOCK_MONOTONIC, 2};
    SYS(setsockopt(timed, SOL_SOCKET, kTxTime, &times, sizeof times));
    const int mapped = SYS(socket(AF_INET6, SOCK_DGRAM, 0));
    const zdtm::Inet towards = zdtm::Inet::mapped(there.port());
    SYS(connect(mapped, towards.get(), towards.length));
    const int shut = bound(AF_INET);
    SYS(connect(shut, there.get(), there.length));
    SYS(shutdown(shut, SHUT_WR));
    const zdtm::Inet here = zdtm::Inet::of(one);
    const zdtm::Inet here6 = zdtm::Inet::of(mapped);
    me.wait_for_check();

    CHECK(zdtm::Inet::of(one) == here && zdtm::Inet::of_peer(one) == there, "addresses changed");
    CHECK(zdtm::Inet::of(mapped) == here6 && zdtm::Inet::of_peer(mapped) == towards, "mapped addresses changed");
    CHECK(zdtm::get_option(one, SOL_SOCKET, SO_BROADCAST) == 1, "SO_BROADCAST");
    CHECK(zdtm::get_option(one, IPPROTO_IP, IP_PKTINFO) == 1, "IP_PKTINFO");
    CHECK(zdtm::get_option(one, IPPROTO_IP, IP_RECVTOS) == 1, "IP_RECVTOS");
    CHECK(zdtm::get_option(one, IPPROTO_IP, IP_MULTICAST_TTL) == 9, "IP_MULTICAST_TTL");
    CHECK(zdtm::get_option(one, IPPROTO_IP, IP_MULTICAST_LOOP) == 0, "IP_MULTICAST_LOOP");
    CHECK(zdtm::get_option(one, IPPROTO_UDP, UDP_SEGMENT) == 1200, "UDP_SEGMENT");
    CHECK(zdtm::get_option(other, IPPROTO_UDP, UDP_GRO) == 1, "UDP_GRO");
    CHECK(zdtm::get_option(six, IPPROTO_IPV6, IPV6_V6ONLY) == 1, "IPV6_V6ONLY");
    CHECK(zdtm::get_option(six, IPPROTO_IPV6, IPV6_TCLASS) == 0x20, "IPV6_TCLASS");
    CHECK(zdtm::get_option(six, IPPROTO_IPV6, IPV6_UNICAST_HOPS) == 7, "IPV6_UNICAST_HOPS");
    CHECK(zdtm::get_option(six, IPPROTO_IPV6, IPV6_RECVPKTINFO) == 1, "IPV6_RECVPKTINFO");
    CHECK(zdtm::get_option(six, IPPROTO_IPV6, IPV6_RECVHOPLIMIT) == 1, "IPV6_RECVHOPLIMIT");
    CHECK(zdtm::get_option(six, IPPROTO_IPV6, IPV6_2292PKTINFO) == 1, "IPV6_2292PKTINFO");
    unsigned char header[16] = {};
    socklen_t size = sizeof header;
    SYS(getsockopt(six, IPPROTO_IPV6, IPV6_DSTOPTS, header, &size));
    CHECK(size == sizeof padding && memcmp(header, padding, size) == 0, "IPV6_DSTOPTS: %u bytes", size);
    CHECK(zdtm::get_option(six, SOL_SOCKET, kTimestampNsNew) == 1, "SO_TIMESTAMPNS_NEW");
    SendTimes now;
    size = sizeof now;
    SYS(getsockopt(timed, SOL_SOCKET, kTxTime, &now, &size));
    CHECK(now.clock == times.clock && now.flags == times.flags, "SO_TXTIME: %d, %u", now.clock, now.flags);
    zdtm::set_option(other, IPPROTO_UDP, UDP_GRO, 0);
    zdtm::check_flows(one, other, "datagram");
    zdtm::check_flows(mapped, other, "datagram from a mapped address");
    CHECK(send(shut, "x", 1, MSG_NOSIGNAL) == -1 && errno == EPIPE, "a shut down socket sends: %s", strerror(errno));
}
