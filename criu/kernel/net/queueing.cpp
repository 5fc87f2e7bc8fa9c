// SPDX-License-Identifier: GPL-2.0-only
#include "criu/kernel/net/queueing.hpp"

#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "criu/base/error.hpp"
#include "criu/kernel/net/netlink.hpp"

namespace criu::kernel {

Queueing parseQueueing(std::span<const std::byte> answer) {
    tcmsg fixed{};
    if (answer.size() < sizeof(fixed))
        fail("the kernel's description of a queueing discipline has {} bytes only", answer.size());
    std::memcpy(&fixed, answer.data(), sizeof(fixed));
    Queueing queueing;
    queueing.device = static_cast<std::uint32_t>(fixed.tcm_ifindex);
    queueing.parent = fixed.tcm_parent;
    forEachAttribute(answer.subspan(std::min<std::size_t>(NLMSG_ALIGN(sizeof(fixed)), answer.size())),
                     [&](std::uint16_t type, std::span<const std::byte> value) {
                         if (type != TCA_KIND)
                             return;
                         const auto* const text = reinterpret_cast<const char*>(value.data());
                         queueing.kind.assign(text, ::strnlen(text, value.size()));
                     });
    return queueing;
}

std::vector<Queueing> readQueueing() {
    std::vector<Queueing> all;
    NetlinkMessage message(RTM_GETQDISC, NLM_F_REQUEST | NLM_F_DUMP, tcmsg{});
    const int code = NetlinkSocket(NETLINK_ROUTE).request(message, [&](const nlmsghdr& header, auto payload) {
        if (header.nlmsg_type == RTM_NEWQDISC)
            all.push_back(parseQueueing(payload));
    });
    // Without CONFIG_NET_SCHED, rtnetlink has no handler for the message, and reports EOPNOTSUPP.
    if (code != 0 && code != EOPNOTSUPP)
        failWith(code, "list queueing disciplines");
    return all;
}

}  // namespace criu::kernel
