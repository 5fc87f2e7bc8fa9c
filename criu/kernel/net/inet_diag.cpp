// SPDX-License-Identifier: GPL-2.0-only
#include "criu/kernel/net/inet_diag.hpp"

#include <arpa/inet.h>
#include <linux/inet_diag.h>
#include <linux/sock_diag.h>

#include <array>
#include <cstring>

#include "criu/base/error.hpp"
#include "criu/kernel/net/netlink.hpp"

namespace criu::kernel {
namespace {

/// Copies a value out of an attribute; nullopt if `bytes` is too short.
template <typename T>
std::optional<T> valueOf(std::span<const std::byte> bytes) {
    T value{};
    if (bytes.size() < sizeof(value))
        return std::nullopt;
    std::memcpy(&value, bytes.data(), sizeof(value));
    return value;
}

void addAttribute(InetSocketInfo& info, std::uint16_t type, std::span<const std::byte> value) {
    switch (type) {
        case INET_DIAG_SHUTDOWN:
            info.shutdown = valueOf<std::uint8_t>(value).value_or(0);
            break;
        case INET_DIAG_MD5SIG:
            info.hasMd5Keys = true;
            break;
        case INET_DIAG_TOS:
            info.options.tos = valueOf<std::uint8_t>(value);
            break;
        case INET_DIAG_MARK:
            info.options.mark = valueOf<int>(value);
            break;
        case INET_DIAG_SKMEMINFO:
            if (const auto memory = valueOf<std::array<int, SK_MEMINFO_SNDBUF + 1>>(value)) {
                info.options.receiveBuffer = (*memory)[SK_MEMINFO_RCVBUF];
                info.options.sendBuffer = (*memory)[SK_MEMINFO_SNDBUF];
            }
            break;
        case INET_DIAG_SOCKOPT:
            if (const auto bits = valueOf<inet_diag_sockopt>(value))
                info.options.flags = InetListedOptions::Flags{bits->freebind != 0, bits->transparent != 0,
                                                              bits->bind_address_no_port != 0, bits->recverr != 0,
                                                              bits->recverr_rfc4884 != 0};
            break;
        default:
            break;
    }
}

}  // namespace

InetSocketInfo parseInetSocket(std::span<const std::byte> answer) {
    inet_diag_msg fixed{};
    if (answer.size() < sizeof(fixed))
        fail("the kernel's answer about a socket has only {} bytes", answer.size());
    std::memcpy(&fixed, answer.data(), sizeof(fixed));
    InetSocketInfo info;
    info.inode = fixed.idiag_inode;
    info.state = fixed.idiag_state;
    info.receiveQueue = fixed.idiag_rqueue;
    info.sendQueue = fixed.idiag_wqueue;
    info.destinationPort = ntohs(fixed.id.idiag_dport);
    info.sourcePort = ntohs(fixed.id.idiag_sport);
    std::memcpy(info.source.data(), fixed.id.idiag_src, sizeof(info.source));
    std::memcpy(info.destination.data(), fixed.id.idiag_dst, sizeof(info.destination));
    forEachAttribute(
        answer.subspan(NLMSG_ALIGN(sizeof(fixed))),
        [&info](std::uint16_t type, std::span<const std::byte> value) { addAttribute(info, type, value); });
    return info;
}

std::vector<InetSocketInfo> readInetSockets(int family, int protocol) {
    inet_diag_req_v2 request{};
    request.sdiag_family = static_cast<std::uint8_t>(family);
    request.sdiag_protocol = static_cast<std::uint8_t>(protocol);
    request.idiag_states = ~0U;
    request.idiag_ext = 1U << (INET_DIAG_TOS - 1) | 1U << (INET_DIAG_SKMEMINFO - 1);
    if (protocol == IPPROTO_TCP)  // the kernel reports MD5 keys only together with INET_DIAG_INFO
        request.idiag_ext |= 1U << (INET_DIAG_INFO - 1);
    NetlinkMessage message(SOCK_DIAG_BY_FAMILY, NLM_F_REQUEST | NLM_F_DUMP, request);
    std::vector<InetSocketInfo> sockets;
    const int error = NetlinkSocket(NETLINK_SOCK_DIAG)
                          .request(message, [&](const nlmsghdr& header, std::span<const std::byte> payload) {
                              if (header.nlmsg_type == SOCK_DIAG_BY_FAMILY)
                                  sockets.push_back(parseInetSocket(payload));
                          });
    if (error != 0 && error != ENOENT)
        failWith(error, "ask the kernel about sockets of protocol {}", protocol);
    return sockets;
}

std::size_t destroyClosedConnections(int family, std::uint16_t port) {
    constexpr std::uint32_t kFinWait2 = 5;
    constexpr std::uint32_t kTimeWait = 6;
    inet_diag_req_v2 request{};
    request.sdiag_family = static_cast<std::uint8_t>(family);
    request.sdiag_protocol = IPPROTO_TCP;
    request.idiag_states = 1U << kFinWait2 | 1U << kTimeWait;
    NetlinkMessage question(SOCK_DIAG_BY_FAMILY, NLM_F_REQUEST | NLM_F_DUMP, request);
    std::vector<inet_diag_sockid> found;
    (void)NetlinkSocket(NETLINK_SOCK_DIAG)
        .request(question, [&](const nlmsghdr& header, std::span<const std::byte> payload) {
            inet_diag_msg answer{};
            if (header.nlmsg_type != SOCK_DIAG_BY_FAMILY || payload.size() < sizeof(answer))
                return;
            std::memcpy(&answer, payload.data(), sizeof(answer));
            if (answer.idiag_inode == 0 && ntohs(answer.id.idiag_sport) == port)
                found.push_back(answer.id);
        });
    for (const inet_diag_sockid& id : found) {
        request.id = id;
        NetlinkMessage order(SOCK_DESTROY, NLM_F_REQUEST | NLM_F_ACK, request);
        (void)NetlinkSocket(NETLINK_SOCK_DIAG).request(order);
    }
    return found.size();
}

}  // namespace criu::kernel
