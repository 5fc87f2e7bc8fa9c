// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

/// Functions that read netlink sockets by NETLINK_SOCK_DIAG (sock_diag(7), <linux/netlink_diag.h>).
namespace criu::kernel {

struct NetlinkSocketInfo {
    std::uint32_t inode = 0;
    std::uint8_t state = 0;  ///< 1 if the socket is connected
    std::uint32_t port = 0;  ///< port id of the socket; 0 if unbound
    std::uint32_t destinationPort = 0;
    std::uint32_t destinationGroup = 0;
};

/// Lists all bound netlink sockets in the calling thread's network namespace. The list is empty if the kernel can't
/// list them.
std::vector<NetlinkSocketInfo> readNetlinkSockets();

/// Parses one message of the kernel without its netlink header. Throws Error if the message is too short.
NetlinkSocketInfo parseNetlinkSocket(std::span<const std::byte> answer);

}  // namespace criu::kernel
