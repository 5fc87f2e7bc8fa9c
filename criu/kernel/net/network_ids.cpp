// SPDX-License-Identifier: GPL-2.0-only
#include "criu/kernel/net/network_ids.hpp"

#include <linux/net_namespace.h>

#include "criu/base/error.hpp"
#include "criu/kernel/net/netlink.hpp"

namespace criu::kernel {

std::optional<std::int32_t> networkIdOf(int network) {
    NetlinkMessage message(RTM_GETNSID, NLM_F_REQUEST | NLM_F_ACK, rtgenmsg{});
    message.number(NETNSA_FD, network);
    std::int32_t id = NETNSA_NSID_NOT_ASSIGNED;
    const int code = NetlinkSocket(NETLINK_ROUTE).request(message, [&](const nlmsghdr& header, auto payload) {
        if (header.nlmsg_type != RTM_NEWNSID || payload.size() < NLMSG_ALIGN(sizeof(rtgenmsg)))
            return;
        forEachAttribute(payload.subspan(NLMSG_ALIGN(sizeof(rtgenmsg))), [&](std::uint16_t type, auto value) {
            if (type == NETNSA_NSID && value.size() == sizeof(id))
                std::memcpy(&id, value.data(), sizeof(id));
        });
    });
    if (code != 0)
        failWith(code, "ask for the id of a network namespace");
    return id >= 0 ? std::optional(id) : std::nullopt;
}

void setNetworkId(int network, std::int32_t id) {
    NetlinkMessage message(RTM_NEWNSID, NLM_F_REQUEST | NLM_F_ACK, rtgenmsg{});
    message.number(NETNSA_NSID, id);
    message.number(NETNSA_FD, network);
    if (const int code = NetlinkSocket(NETLINK_ROUTE).request(message); code != 0)
        failWith(code, "give a network namespace the id {}", id);
}

}  // namespace criu::kernel
