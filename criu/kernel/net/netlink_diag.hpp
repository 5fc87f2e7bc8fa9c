// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

/// Netlink sockets as NETLINK_SOCK_DIAG reports them (sock_diag(7), <linux/netlink_diag.h>).
namespace criu::kernel {

struct NetlinkSocketInfo {
    std::uint32_t inode = 0;
    std::uint8_t state = 0;  ///< 1: connected
    std::uint32_t port = 0;  ///< 0: unbound
    std::uint32_t destinationPort = 0;
    std::uint32_t destinationGroup = 0;
};

/// Lists all bound netlink sockets of the calling thread's network namespace. Returns an empty list if the kernel
/// can't list them.
std::vector<NetlinkSocketInfo> readNetlinkSockets();

/// Parses one answer without its netlink header. Throws Error if it is too short.
NetlinkSocketInfo parseNetlinkSocket(std::span<const std::byte> answer);

}  // namespace criu::kernel
