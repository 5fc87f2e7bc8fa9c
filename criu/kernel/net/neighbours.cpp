// SPDX-License-Identifier: GPL-2.0-only
#include "criu/kernel/net/neighbours.hpp"

#include <linux/neighbour.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "criu/base/error.hpp"
#include "criu/kernel/net/netlink.hpp"

namespace criu::kernel {

std::optional<Neighbour> parseNeighbour(std::span<const std::byte> answer) {
    ndmsg fixed{};
    if (answer.size() < sizeof(fixed))
        fail("the kernel's description of a neighbour has {} bytes only", answer.size());
    std::memcpy(&fixed, answer.data(), sizeof(fixed));
    // Ignores entries that the kernel itself creates. It creates them for multicast addresses, and for devices without
    // link addresses (loopback).
    if ((fixed.ndm_state & NUD_PERMANENT) == 0 || (fixed.ndm_family != AF_INET && fixed.ndm_family != AF_INET6))
        return std::nullopt;
    Neighbour neighbour;
    neighbour.device = static_cast<std::uint32_t>(fixed.ndm_ifindex);
    neighbour.family = fixed.ndm_family;
    neighbour.flags = fixed.ndm_flags;
    forEachAttribute(answer.subspan(std::min<std::size_t>(NLMSG_ALIGN(sizeof(fixed)), answer.size())),
                     [&](std::uint16_t type, std::span<const std::byte> value) {
                         if (type == NDA_DST)
                             neighbour.address.assign(value.begin(), value.end());
                         else if (type == NDA_LLADDR)
                             neighbour.linkAddress.assign(value.begin(), value.end());
                     });
    if (neighbour.address.empty() || neighbour.linkAddress.empty())
        return std::nullopt;
    return neighbour;
}

std::vector<Neighbour> readNeighbours() {
    std::vector<Neighbour> neighbours;
    NetlinkMessage message(RTM_GETNEIGH, NLM_F_REQUEST | NLM_F_DUMP, ndmsg{});
    const int code = NetlinkSocket(NETLINK_ROUTE).request(message, [&](const nlmsghdr& header, auto payload) {
        if (header.nlmsg_type == RTM_NEWNEIGH)
            if (auto neighbour = parseNeighbour(payload))
                neighbours.push_back(std::move(*neighbour));
    });
    if (code != 0)
        failWith(code, "list neighbours");
    return neighbours;
}

std::vector<std::uint32_t> readStaticForwarding() {
    std::vector<std::uint32_t> ports;
    ndmsg request{};
    request.ndm_family = AF_BRIDGE;
    NetlinkMessage message(RTM_GETNEIGH, NLM_F_REQUEST | NLM_F_DUMP, request);
    const int code = NetlinkSocket(NETLINK_ROUTE).request(message, [&](const nlmsghdr& header, auto payload) {
        ndmsg fixed{};
        if (header.nlmsg_type != RTM_NEWNEIGH || payload.size() < sizeof(fixed))
            return;
        std::memcpy(&fixed, payload.data(), sizeof(fixed));
        // A static entry has NUD_NOARP, an address of a port itself NUD_PERMANENT (fdb_to_nud(), Linux 6.18).
        // An entry of a vxlan device that bridge(8) has added has both.
        if (fixed.ndm_state == NUD_NOARP || fixed.ndm_state == (NUD_NOARP | NUD_PERMANENT))
            ports.push_back(static_cast<std::uint32_t>(fixed.ndm_ifindex));
    });
    // Without CONFIG_BRIDGE and other users of forwarding tables, the list is empty or the family isn't known.
    if (code != 0 && code != EOPNOTSUPP && code != EAFNOSUPPORT)
        failWith(code, "list forwarding tables");
    return ports;
}

void addNeighbour(const Neighbour& neighbour) {
    ndmsg fixed{};
    fixed.ndm_family = neighbour.family;
    fixed.ndm_ifindex = static_cast<int>(neighbour.device);
    fixed.ndm_state = NUD_PERMANENT;
    fixed.ndm_flags = neighbour.flags;
    NetlinkMessage message(RTM_NEWNEIGH, NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_REPLACE, fixed);
    message.attribute(NDA_DST, neighbour.address.data(), neighbour.address.size());
    message.attribute(NDA_LLADDR, neighbour.linkAddress.data(), neighbour.linkAddress.size());
    if (const int code = NetlinkSocket(NETLINK_ROUTE).request(message); code != 0)
        failWith(code, "enter a neighbour of network device {}", neighbour.device);
}

}  // namespace criu::kernel
