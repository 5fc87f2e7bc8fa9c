// SPDX-License-Identifier: GPL-2.0-only
#include "criu/kernel/net/conntrack.hpp"

#include <arpa/inet.h>
#include <linux/netfilter/nf_conntrack_common.h>
#include <linux/netfilter/nf_conntrack_tcp.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter/nfnetlink_conntrack.h>

#include "criu/base/error.hpp"
#include "criu/kernel/net/netlink.hpp"

namespace criu::kernel {
namespace {

constexpr std::uint16_t subsystem(ConntrackTable table) noexcept {
    const int number = table == ConntrackTable::Connections ? NFNL_SUBSYS_CTNETLINK : NFNL_SUBSYS_CTNETLINK_EXP;
    return static_cast<std::uint16_t>(number << 8);
}

/// Sets the liberal flag in the entry of a TCP connection. Needed because the kernel doesn't report the windows of a
/// connection: without the flag, a restored entry would drop packets as out of window. `body` begins with an nfgenmsg.
void makeLiberal(std::span<std::byte> body) {
    const auto relax = [&](std::span<const std::byte> value) {
        if (value.size() < sizeof(nf_ct_tcp_flags))
            return;
        const auto at = static_cast<std::size_t>(value.data() - body.data());
        nf_ct_tcp_flags flags{};
        std::memcpy(&flags, &body[at], sizeof(flags));
        flags.flags |= IP_CT_TCP_FLAG_BE_LIBERAL;
        flags.mask |= IP_CT_TCP_FLAG_BE_LIBERAL;
        std::memcpy(&body[at], &flags, sizeof(flags));
    };
    forEachAttribute(body.subspan(NLMSG_ALIGN(sizeof(nfgenmsg))), [&](std::uint16_t type, auto entry) {
        if (type != CTA_PROTOINFO)
            return;
        forEachAttribute(entry, [&](std::uint16_t protocol, auto state) {
            if (protocol != CTA_PROTOINFO_TCP)
                return;
            forEachAttribute(state, [&](std::uint16_t field, auto value) {
                if (field == CTA_PROTOINFO_TCP_FLAGS_ORIGINAL || field == CTA_PROTOINFO_TCP_FLAGS_REPLY)
                    relax(value);
            });
        });
    });
}

/// Clears status bits that only the kernel may set, because it refuses requests that change them. If the connection has
/// a master, the kernel sets IPS_EXPECTED itself.
void clearOwnStatus(std::span<std::byte> body) {
    forEachAttribute(body.subspan(NLMSG_ALIGN(sizeof(nfgenmsg))), [&](std::uint16_t type, auto value) {
        if (type != CTA_STATUS || value.size() != sizeof(std::uint32_t))
            return;
        const auto at = static_cast<std::size_t>(value.data() - body.data());
        std::uint32_t status = 0;
        std::memcpy(&status, &body[at], sizeof(status));
        status &= ~htonl(IPS_EXPECTED | IPS_DYING);
        std::memcpy(&body[at], &status, sizeof(status));
    });
}

bool hasMaster(std::span<const std::byte> body) {
    bool found = false;
    forEachAttribute(body.subspan(NLMSG_ALIGN(sizeof(nfgenmsg))),
                     [&](std::uint16_t type, auto) { found = found || type == CTA_TUPLE_MASTER; });
    return found;
}

}  // namespace

std::vector<std::byte> readConntrack(ConntrackTable table) {
    const auto request = static_cast<std::uint16_t>(
        subsystem(table) | (table == ConntrackTable::Connections ? int{IPCTNL_MSG_CT_GET} : int{IPCTNL_MSG_EXP_GET}));
    NetlinkMessage message(request, NLM_F_REQUEST | NLM_F_DUMP, nfgenmsg{});
    std::vector<std::byte> all;
    const int code = NetlinkSocket(NETLINK_NETFILTER).request(message, [&](const nlmsghdr& header, auto) {
        const auto* const start = reinterpret_cast<const std::byte*>(&header);
        all.insert(all.end(), start, start + header.nlmsg_len);
    });
    // A kernel without connection tracking returns EINVAL or EOPNOTSUPP for the request.
    if (code != 0 && code != EINVAL && code != EOPNOTSUPP)
        failWith(code, "list tracked connections");
    return all;
}

void writeConntrack(ConntrackTable table, std::span<const std::byte> messages) {
    NetlinkSocket socket(NETLINK_NETFILTER);
    // Creates all masters first, because an expected connection refers to its master connection.
    std::vector<NetlinkMessage> related;
    const auto make = [&socket](NetlinkMessage& message) {
        if (const int code = socket.request(message); code != 0)
            failWith(code, "make the entry of a tracked connection");
    };
    while (!messages.empty()) {
        nlmsghdr header{};
        nfgenmsg fixed{};
        constexpr std::size_t kLeast = NLMSG_HDRLEN + NLMSG_ALIGN(sizeof(fixed));
        if (messages.size() >= sizeof(header))
            std::memcpy(&header, messages.data(), sizeof(header));
        if (header.nlmsg_len < kLeast || header.nlmsg_len > messages.size() ||
            (header.nlmsg_type & 0xff00) != subsystem(table))
            fail("a list of tracked connections is damaged");
        std::vector<std::byte> body(messages.begin() + NLMSG_HDRLEN, messages.begin() + header.nlmsg_len);
        if (table == ConntrackTable::Connections) {
            makeLiberal(body);
            clearOwnStatus(body);
        }
        std::memcpy(&fixed, body.data(), sizeof(fixed));
        NetlinkMessage message(header.nlmsg_type, NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE, fixed);
        message.append(body.data() + NLMSG_ALIGN(sizeof(fixed)), body.size() - NLMSG_ALIGN(sizeof(fixed)));
        if (table == ConntrackTable::Connections && hasMaster(body))
            related.push_back(std::move(message));
        else
            make(message);
        messages = messages.subspan(header.nlmsg_len);
    }
    for (NetlinkMessage& message : related)
        make(message);
}

}  // namespace criu::kernel
