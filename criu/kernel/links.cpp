// SPDX-License-Identifier: GPL-2.0-only
#include "criu/kernel/links.hpp"

#include <linux/fib_rules.h>
#include <linux/if_link.h>
#include <linux/if_tun.h>
#include <net/if.h>

#include "criu/base/error.hpp"
#include "criu/kernel/netlink.hpp"

namespace criu::kernel {
namespace {

std::uint32_t wordOf(std::span<const std::byte> value) {
    std::uint32_t word = 0;
    std::memcpy(&word, value.data(), std::min(sizeof(word), value.size()));
    return word;
}

std::string textOf(std::span<const std::byte> value) {
    const auto* const text = reinterpret_cast<const char*>(value.data());
    return {text, ::strnlen(text, value.size())};
}

TunLink tunLinkOf(std::span<const std::byte> details) {
    TunLink tun;
    forEachAttribute(details, [&](std::uint16_t type, std::span<const std::byte> value) {
        const bool set = !value.empty() && value[0] != std::byte{0};
        switch (type) {
            case IFLA_TUN_OWNER:
                tun.user = static_cast<std::int32_t>(wordOf(value));
                break;
            case IFLA_TUN_GROUP:
                tun.group = static_cast<std::int32_t>(wordOf(value));
                break;
            case IFLA_TUN_TYPE:
                tun.flags |= value.empty() ? 0U : std::to_integer<std::uint32_t>(value[0]);
                break;
            case IFLA_TUN_PI:
                tun.flags |= set ? 0U : IFF_NO_PI;
                break;
            case IFLA_TUN_VNET_HDR:
                tun.flags |= set ? IFF_VNET_HDR : 0U;
                break;
            case IFLA_TUN_PERSIST:
                tun.flags |= set ? IFF_PERSIST : 0U;
                break;
            case IFLA_TUN_MULTI_QUEUE:
                tun.flags |= set ? IFF_MULTI_QUEUE : 0U;
                break;
            default:
                break;
        }
    });
    return tun;
}

}  // namespace

NetworkLink parseLink(std::span<const std::byte> answer) {
    ifinfomsg fixed{};
    if (answer.size() < sizeof(fixed))
        fail("the kernel's description of a network device has {} bytes only", answer.size());
    std::memcpy(&fixed, answer.data(), sizeof(fixed));
    NetworkLink link;
    link.index = static_cast<std::uint32_t>(fixed.ifi_index);
    link.hardware = fixed.ifi_type;
    link.flags = fixed.ifi_flags;
    forEachAttribute(answer.subspan(NLMSG_ALIGN(sizeof(fixed))), [&](std::uint16_t type, auto value) {
        if (type == IFLA_IFNAME)
            link.name = textOf(value);
        else if (type == IFLA_MTU)
            link.mtu = wordOf(value);
        else if (type == IFLA_LINK)
            link.peer = wordOf(value);
        else if (type == IFLA_ADDRESS)
            link.address.assign(value.begin(), value.end());
        else if (type == IFLA_LINKINFO)
            forEachAttribute(value, [&](std::uint16_t detail, auto text) {
                if (detail == IFLA_INFO_KIND)
                    link.kind = textOf(text);
                else if (detail == IFLA_INFO_DATA && link.kind == "tun")
                    link.tun = tunLinkOf(text);
            });
        else if (type == IFLA_XDP)
            forEachAttribute(value, [&](std::uint16_t detail, auto state) {
                if (detail == IFLA_XDP_ATTACHED)
                    link.hasProgram = !state.empty() && state[0] != std::byte{XDP_ATTACHED_NONE};
            });
    });
    return link;
}

std::vector<NetworkLink> readLinks() {
    std::vector<NetworkLink> links;
    NetlinkMessage message(RTM_GETLINK, NLM_F_REQUEST | NLM_F_DUMP, ifinfomsg{});
    const int code = NetlinkSocket(NETLINK_ROUTE).request(message, [&](const nlmsghdr& header, auto payload) {
        if (header.nlmsg_type == RTM_NEWLINK)
            links.push_back(parseLink(payload));
    });
    if (code != 0)
        failWith(code, "list network devices");
    return links;
}

void configureLink(std::uint32_t index, bool up, std::uint32_t mtu) {
    ifinfomsg fixed{};
    fixed.ifi_index = static_cast<int>(index);
    fixed.ifi_flags = up ? IFF_UP : 0;
    fixed.ifi_change = IFF_UP;
    NetlinkMessage message(RTM_SETLINK, NLM_F_REQUEST | NLM_F_ACK, fixed);
    message.number(IFLA_MTU, mtu);
    if (const int code = NetlinkSocket(NETLINK_ROUTE).request(message); code != 0)
        failWith(code, "configure network device {}", index);
}

void setLinkAddress(std::uint32_t index, std::span<const std::byte> address) {
    ifinfomsg fixed{};
    fixed.ifi_index = static_cast<int>(index);
    NetlinkMessage message(RTM_SETLINK, NLM_F_REQUEST | NLM_F_ACK, fixed);
    message.attribute(IFLA_ADDRESS, address.data(), address.size());
    if (const int code = NetlinkSocket(NETLINK_ROUTE).request(message); code != 0)
        failWith(code, "set the address of network device {}", index);
}

std::vector<std::uint32_t> readRulePriorities(int family) {
    std::vector<std::uint32_t> priorities;
    fib_rule_hdr fixed{};
    fixed.family = static_cast<std::uint8_t>(family);
    NetlinkMessage message(RTM_GETRULE, NLM_F_REQUEST | NLM_F_DUMP, fixed);
    const int code = NetlinkSocket(NETLINK_ROUTE).request(message, [&](const nlmsghdr& header, auto payload) {
        if (header.nlmsg_type != RTM_NEWRULE || payload.size() < sizeof(fixed))
            return;
        std::uint32_t priority = 0;  // what isn't said is 0
        forEachAttribute(payload.subspan(NLMSG_ALIGN(sizeof(fixed))), [&](std::uint16_t type, auto value) {
            if (type == FRA_PRIORITY)
                priority = wordOf(value);
        });
        priorities.push_back(priority);
    });
    if (code != 0 && code != EAFNOSUPPORT && code != EOPNOTSUPP)
        failWith(code, "list routing rules");
    return priorities;
}

}  // namespace criu::kernel
