// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/types.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

/// IPv4 and IPv6 sockets as NETLINK_SOCK_DIAG reports them (sock_diag(7), <linux/inet_diag.h>).
namespace criu::kernel {

/// Options of a socket; unset if the kernel doesn't report them.
struct InetListedOptions {
    std::optional<int> tos;            ///< IP_TOS
    std::optional<int> mark;           ///< SO_MARK; reported only to callers with CAP_NET_ADMIN
    std::optional<int> receiveBuffer;  ///< SO_RCVBUF
    std::optional<int> sendBuffer;     ///< SO_SNDBUF
    struct Flags {                     ///< IP_…
        bool freeBind = false;
        bool transparent = false;
        bool bindAddressNoPort = false;
        bool receiveErrors = false;
        bool receiveErrorsRfc4884 = false;
    };
    std::optional<Flags> flags;  ///< Linux 5.10
};

struct InetSocketInfo {
    std::uint32_t inode = 0;
    std::uint8_t state = 0;                      ///< state numbers of TCP
    std::array<std::uint32_t, 4> source{};       ///< network byte order
    std::uint16_t sourcePort = 0;                ///< host byte order
    std::array<std::uint32_t, 4> destination{};  ///< peer of a connected socket, network byte order
    std::uint16_t destinationPort = 0;           ///< host byte order
    std::uint32_t receiveQueue = 0;              ///< bytes
    std::uint32_t sendQueue = 0;
    std::uint8_t shutdown = 0;  ///< bit 0: receiving, bit 1: sending is shut down
    bool hasMd5Keys = false;    ///< the socket has TCP_MD5SIG keys; reported only to callers with CAP_NET_ADMIN
    InetListedOptions options;
};

/// Lists all sockets of a family (AF_…) and protocol in the calling thread's network namespace. Protocols:
/// IPPROTO_TCP, IPPROTO_UDP, IPPROTO_UDPLITE, or IPPROTO_RAW for raw sockets of any protocol. Omits sockets without
/// an address. Returns an empty list if the kernel can't list the protocol.
std::vector<InetSocketInfo> readInetSockets(int family, int protocol);

/// Destroys closed TCP connections at a local port that only the kernel still holds, in TIME_WAIT or FIN_WAIT2. No
/// process has a descriptor of them. Acts on the calling thread's network namespace.
/// Does nothing without CAP_NET_ADMIN there or CONFIG_INET_DIAG_DESTROY. Returns the number found.
std::size_t destroyClosedConnections(int family, std::uint16_t port);

/// Parses one answer without its netlink header. Throws Error if it is too short.
InetSocketInfo parseInetSocket(std::span<const std::byte> answer);

}  // namespace criu::kernel
