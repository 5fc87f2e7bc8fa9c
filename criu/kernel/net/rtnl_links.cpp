// SPDX-License-Identifier: GPL-2.0-only
#include "criu/kernel/net/rtnl_links.hpp"

#include <linux/fib_rules.h>
#include <linux/if_link.h>
#include <linux/if_tun.h>
#include <linux/veth.h>
#include <net/if.h>

#include "criu/base/error.hpp"
#include "criu/kernel/net/netlink.hpp"

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

void optionsOf(std::span<const std::byte> details, std::vector<LinkOption>& options) {
    forEachAttribute(details, [&](std::uint16_t type, std::span<const std::byte> value) {
        options.push_back({type, {value.begin(), value.end()}});
    });
}

void addOptions(NetlinkMessage& message, std::uint16_t type, const std::vector<LinkOption>& options) {
    if (!options.empty())
        message.nested(type, [&] {
            for (const LinkOption& option : options)
                message.attribute(option.type, option.value.data(), option.value.size());
        });
}

template <typename Link>
void addCommon(NetlinkMessage& message, const Link& link) {
    if (link.mtu)
        message.number(IFLA_MTU, *link.mtu);
    if (link.queueLength)
        message.number(IFLA_TXQLEN, *link.queueLength);
    if (!link.address.empty())
        message.attribute(IFLA_ADDRESS, link.address.data(), link.address.size());
    if (link.network >= 0)
        message.number(IFLA_NET_NS_FD, link.network);
}

void addText(NetlinkMessage& message, std::uint16_t type, std::string_view text) {
    const std::string terminated(text);
    message.attribute(type, terminated.c_str(), terminated.size() + 1);
}

void describe(NetlinkMessage& message, const NewLink& link) {
    if (!link.name.empty())
        addText(message, IFLA_IFNAME, link.name);
    addCommon(message, link);
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
        else if (type == IFLA_LINK_NETNSID)
            link.peerNetwork = static_cast<std::int32_t>(wordOf(value));
        else if (type == IFLA_MASTER)
            link.master = wordOf(value);
        else if (type == IFLA_QDISC)
            link.queueing = textOf(value);
        else if (type == IFLA_TXQLEN)
            link.queueLength = wordOf(value);
        else if (type == IFLA_LINKINFO)
            forEachAttribute(value, [&](std::uint16_t detail, auto text) {
                if (detail == IFLA_INFO_KIND)
                    link.kind = textOf(text);
                else if (detail == IFLA_INFO_DATA && link.kind == "tun")
                    link.tun = tunLinkOf(text);
                else if (detail == IFLA_INFO_DATA)
                    optionsOf(text, link.options);
                else if (detail == IFLA_INFO_SLAVE_DATA)
                    optionsOf(text, link.portOptions);
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

NetworkLink readLink(std::uint32_t index) {
    ifinfomsg fixed{};
    fixed.ifi_index = static_cast<int>(index);
    NetlinkMessage message(RTM_GETLINK, NLM_F_REQUEST | NLM_F_ACK, fixed);
    NetworkLink link;
    const int code = NetlinkSocket(NETLINK_ROUTE).request(message, [&](const nlmsghdr& header, auto payload) {
        if (header.nlmsg_type == RTM_NEWLINK)
            link = parseLink(payload);
    });
    if (code != 0)
        failWith(code, "look at network device {}", index);
    return link;
}

void makeLink(const NewLink& link) {
    ifinfomsg fixed{};
    fixed.ifi_index = static_cast<int>(link.index);
    NetlinkMessage message(RTM_NEWLINK, NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL, fixed);
    describe(message, link);
    if (link.below)
        message.number(IFLA_LINK, *link.below);
    message.nested(IFLA_LINKINFO, [&] {
        message.attribute(IFLA_INFO_KIND, link.kind);
        addOptions(message, IFLA_INFO_DATA, link.options);
        if (link.otherEnd != nullptr)
            message.nested(IFLA_INFO_DATA, [&] {
                message.nested(VETH_INFO_PEER, [&] {
                    ifinfomsg other{};
                    other.ifi_index = static_cast<int>(link.otherEnd->index);
                    message.append(&other, sizeof(other));
                    describe(message, *link.otherEnd);
                });
            });
    });
    if (const int code = NetlinkSocket(NETLINK_ROUTE).request(message); code != 0)
        failWith(code, "make the network device {} ({}, index {})", link.name, link.kind, link.index);
}

void changeLink(std::uint32_t index, const LinkChange& change) {
    constexpr unsigned kSettable = IFF_UP | IFF_DEBUG | IFF_NOTRAILERS | IFF_NOARP | IFF_PROMISC | IFF_ALLMULTI |
                                   IFF_MULTICAST | IFF_PORTSEL | IFF_AUTOMEDIA | IFF_DYNAMIC;
    ifinfomsg fixed{};
    fixed.ifi_index = static_cast<int>(index);
    fixed.ifi_flags = change.flags.value_or(0) & kSettable;
    fixed.ifi_change = change.flags ? kSettable : 0;
    NetlinkMessage message(RTM_NEWLINK, NLM_F_REQUEST | NLM_F_ACK, fixed);
    if (!change.newName.empty())
        addText(message, IFLA_IFNAME, change.newName);
    if (change.newIndex != 0)
        message.number(IFLA_NEW_IFINDEX, change.newIndex);
    addCommon(message, change);
    if (change.master)
        message.number(IFLA_MASTER, *change.master);
    if (!change.options.empty() || !change.portOptions.empty())
        message.nested(IFLA_LINKINFO, [&] {
            if (!change.options.empty())
                message.attribute(IFLA_INFO_KIND, change.kind);
            addOptions(message, IFLA_INFO_DATA, change.options);
            if (!change.portOptions.empty())
                message.attribute(IFLA_INFO_SLAVE_KIND, std::string_view("bridge"));
            addOptions(message, IFLA_INFO_SLAVE_DATA, change.portOptions);
        });
    if (const int code = NetlinkSocket(NETLINK_ROUTE).request(message); code != 0)
        failWith(code, "configure network device {}", index);
}

void removeLink(std::uint32_t index) {
    ifinfomsg fixed{};
    fixed.ifi_index = static_cast<int>(index);
    NetlinkMessage message(RTM_DELLINK, NLM_F_REQUEST | NLM_F_ACK, fixed);
    if (const int code = NetlinkSocket(NETLINK_ROUTE).request(message); code != 0)
        failWith(code, "remove network device {}", index);
}

std::uint32_t linkIndex(const std::string& name) {
    const std::uint32_t index = ::if_nametoindex(name.c_str());
    if (index == 0)
        failErrno("find the network device {}", name);
    return index;
}

std::vector<std::uint32_t> readRulePriorities(int family) {
    std::vector<std::uint32_t> priorities;
    fib_rule_hdr fixed{};
    fixed.family = static_cast<std::uint8_t>(family);
    NetlinkMessage message(RTM_GETRULE, NLM_F_REQUEST | NLM_F_DUMP, fixed);
    const int code = NetlinkSocket(NETLINK_ROUTE).request(message, [&](const nlmsghdr& header, auto payload) {
        if (header.nlmsg_type != RTM_NEWRULE || payload.size() < sizeof(fixed))
            return;
        std::uint32_t priority = 0;  // default, because the kernel omits the attribute if the priority is 0
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
