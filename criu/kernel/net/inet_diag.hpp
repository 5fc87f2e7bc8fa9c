// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/types.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

/// What the kernel reports about sockets of IPv4 and IPv6 through NETLINK_SOCK_DIAG (sock_diag(7),
/// <linux/inet_diag.h>).
namespace criu::kernel {

/// Some of its options; what a kernel doesn't list is absent.
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
    std::optional<Flags> flags;  ///< 5.10
};

struct InetSocketInfo {
    std::uint32_t inode = 0;
    std::uint8_t state = 0;                      ///< the numbers of TCP's states
    std::array<std::uint32_t, 4> source{};       ///< in network byte order
    std::uint16_t sourcePort = 0;                ///< host order
    std::array<std::uint32_t, 4> destination{};  ///< of a connected socket, in network byte order
    std::uint16_t destinationPort = 0;           ///< host order
    std::uint32_t receiveQueue = 0;              ///< bytes
    std::uint32_t sendQueue = 0;
    std::uint8_t shutdown = 0;  ///< 1: receiving, 2: sending is shut down
    bool hasMd5Keys = false;    ///< TCP_MD5SIG; reported only to callers with CAP_NET_ADMIN
    InetListedOptions options;
};

/// All sockets of a family (AF_…) and protocol (IPPROTO_UDP, IPPROTO_UDPLITE, IPPROTO_RAW for raw sockets of any) of
/// the network namespace of the calling thread. Sockets without an address aren't among them. Empty on kernels that
/// can't list the protocol.
std::vector<InetSocketInfo> readInetSockets(int family, int protocol);

/// Has the kernel forget connections of TCP that it remembers by itself, at a local port: those that were closed, and
/// of which it waits for stray segments (TIME_WAIT) or for the other side to close them, too (FIN_WAIT2). No process
/// has a descriptor of them. In the network namespace of the calling thread; needs CAP_NET_ADMIN there and a kernel
/// with CONFIG_INET_DIAG_DESTROY, or else does nothing. Returns how many there were.
std::size_t destroyClosedConnections(int family, std::uint16_t port);

/// One answer, from behind the netlink header. Throws Error if it is too short to be one.
InetSocketInfo parseInetSocket(std::span<const std::byte> answer);

}  // namespace criu::kernel
