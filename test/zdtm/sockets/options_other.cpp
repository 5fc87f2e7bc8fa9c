// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes once, five
// zdtm: fails-with-4.2 it leaves out most of these options
#include <sys/socket.h>

#include <linux/netlink.h>
#include <linux/vm_sockets.h>
#include <net/ethernet.h>

#include "inet_sockets.hpp"
#include "option_samples.hpp"
#include "unix_sockets.hpp"
#include "zdtm.hpp"

ZDTM("each socket option that the kernel accepts on Unix, netlink, packet, MPTCP and vsock sockets") {
    constexpr int kMptcp = 262;  // IPPROTO_MPTCP
    zdtm::OptionSamples samples;
    const auto add = [&](const std::string& name, int family, int type, int protocol) {
        const int probe = socket(family, type, protocol);
        if (probe < 0) {
            return;  // the kernel lacks it
        }
        SYS(close(probe));
        samples.add(name, [&] { return SYS(socket(family, type, protocol)); });
    };
    add("netlink", AF_NETLINK, SOCK_RAW, NETLINK_ROUTE);
    add("packet", AF_PACKET, SOCK_RAW, 0);
    add("packet without headers", AF_PACKET, SOCK_DGRAM, 0);
    add("MPTCP", AF_INET, SOCK_STREAM, kMptcp);
    add("MPTCP of IPv6", AF_INET6, SOCK_STREAM, kMptcp);
    add("vsock", AF_VSOCK, SOCK_STREAM, 0);
    for (const int type : {SOCK_STREAM, SOCK_DGRAM, SOCK_SEQPACKET}) {
        const std::string name = "Unix socket of type " + std::to_string(type);
        add(name, AF_UNIX, type, 0);
        samples.add(name + ", connected", [&] {
            int ends[2];
            SYS(socketpair(AF_UNIX, type, 0, ends));
            return ends[0];
        });
        if (type != SOCK_DGRAM) {
            samples.add(name + ", listening", [&, next = 0]() mutable {
                return zdtm::listening_socket(
                    type, zdtm::Name::path("listener" + std::to_string(type) + "." + std::to_string(next++)));
            });
        }
    }
    CHECK(samples.count() > 100, "%zu options are known here", samples.count());
    me.wait_for_check();
    samples.check();
}
