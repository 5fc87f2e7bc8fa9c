// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes once, five
// zdtm: fails-with-4.2 it leaves out most of these options

#include "inet_sockets.hpp"
#include "option_samples.hpp"
#include "zdtm.hpp"

namespace {

constexpr int kUnassigned = 253;  // protocol for experiments

int bound(int family, int type, int protocol) {
    const int fd = SYS(socket(family, type, protocol));
    const zdtm::Inet address = zdtm::Inet::loopback(family);
    SYS(bind(fd, address.get(), address.length));
    return fd;
}

int connected(int family, int type, int protocol) {
    static const int targets[] = {bound(AF_INET, SOCK_DGRAM, 0), bound(AF_INET6, SOCK_DGRAM, 0)};
    const int fd = SYS(socket(family, type, protocol));
    const zdtm::Inet address = zdtm::Inet::of(targets[family == AF_INET ? 0 : 1]);
    SYS(connect(fd, address.get(), address.length));
    return fd;
}

}  // namespace

ZDTM("each socket option that the kernel accepts on UDP, UDP-Lite, ICMP and raw sockets, in each state") {
    zdtm::OptionSamples samples;
    struct Kind {
        const char* name;
        int type;
        int of_ipv4;
        int of_ipv6;
    };
    for (const Kind& kind :
         {Kind{"UDP", SOCK_DGRAM, IPPROTO_UDP, IPPROTO_UDP},
          Kind{"UDP-Lite", SOCK_DGRAM, IPPROTO_UDPLITE, IPPROTO_UDPLITE},
          Kind{"ping", SOCK_DGRAM, IPPROTO_ICMP, IPPROTO_ICMPV6},
          Kind{"raw ICMP", SOCK_RAW, IPPROTO_ICMP, IPPROTO_ICMPV6}, Kind{"raw", SOCK_RAW, kUnassigned, kUnassigned},
          Kind{"raw with headers", SOCK_RAW, IPPROTO_RAW, IPPROTO_RAW}}) {
        for (const int family : {AF_INET, AF_INET6}) {
            const int protocol = family == AF_INET ? kind.of_ipv4 : kind.of_ipv6;
            const int probe = socket(family, kind.type, protocol);
            if (probe < 0) {
                continue;  // the kernel lacks it, or it needs a privilege
            }
            SYS(close(probe));
            const std::string name = kind.name + std::string(family == AF_INET ? " of IPv4" : " of IPv6");
            samples.add(name, [&] { return SYS(socket(family, kind.type, protocol)); });
            samples.add(name + ", bound", [&] { return bound(family, kind.type, protocol); });
            samples.add(name + ", connected", [&] { return connected(family, kind.type, protocol); });
        }
    }
    CHECK(samples.count() > 100, "%zu options are known here", samples.count());
    me.wait_for_check();
    samples.check();
}
