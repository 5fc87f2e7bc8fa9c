// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/types.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

/// Functions that read IPv4 and IPv6 sockets by NETLINK_SOCK_DIAG (sock_diag(7), <linux/inet_diag.h>).
namespace criu::kernel {

/// Options of a socket. A field is unset if the kernel doesn't report the option.
struct InetListedOptions {
    std::optional<int> tos;            ///< IP_TOS
    std::optional<int> mark;           ///< SO_MARK; the kernel reports it only to callers with CAP_NET_ADMIN
    std::optional<int> receiveBuffer;  ///< SO_RCVBUF
    std::optional<int> sendBuffer;     ///< SO_SNDBUF
    struct Flags {                     ///< options of level IPPROTO_IP with on or off
        bool freeBind = false;
        bool transparent = false;
        bool bindAddressNoPort = false;
        bool receiveErrors = false;
        bool receiveErrorsRfc4884 = false;
    };
    std::optional<Flags> flags;  ///< unset before Linux 5.10
};

struct InetSocketInfo {
    std::uint32_t inode = 0;
    std::uint8_t state = 0;                 ///< state as a number of TCP states (TCP_ESTABLISHED), for all protocols
    std::array<std::uint32_t, 4> source{};  ///< bound address in network byte order
    std::uint16_t sourcePort = 0;           ///< host byte order
    std::array<std::uint32_t, 4> destination{};  ///< address of the peer in network byte order; 0 if not connected
    std::uint16_t destinationPort = 0;           ///< host byte order
    std::uint32_t receiveQueue = 0;              ///< bytes in the receive queue
    std::uint32_t sendQueue = 0;
    std::uint8_t shutdown = 0;  ///< bit 0: receiving is shut down; bit 1: sending is shut down
    /// True if the socket has TCP_MD5SIG keys; the kernel reports them only to callers with CAP_NET_ADMIN.
    bool hasMd5Keys = false;
    InetListedOptions options;
};

/// Lists all sockets of a family (AF_…) and protocol in the calling thread's network namespace. `protocol` is
/// IPPROTO_TCP, IPPROTO_UDP, IPPROTO_UDPLITE, or IPPROTO_RAW for raw sockets of any protocol. Sockets without an
/// address aren't in the list. The list is empty if the kernel can't list the protocol.
std::vector<InetSocketInfo> readInetSockets(int family, int protocol);

/// Destroys closed TCP connections at a local port that are in TIME_WAIT or FIN_WAIT2; no process has a descriptor of
/// such a connection. Acts on the calling thread's network namespace. Does nothing without CAP_NET_ADMIN in this
/// namespace, or without CONFIG_INET_DIAG_DESTROY. Returns the number of connections that it has found.
std::size_t destroyClosedConnections(int family, std::uint16_t port);

/// Parses one message of the kernel without its netlink header. Throws Error if the message is too short.
InetSocketInfo parseInetSocket(std::span<const std::byte> answer);

}  // namespace criu::kernel
