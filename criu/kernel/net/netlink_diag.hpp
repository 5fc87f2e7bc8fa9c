// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

/// What the kernel reports about netlink sockets through NETLINK_SOCK_DIAG (sock_diag(7), <linux/netlink_diag.h>).
namespace criu::kernel {

struct NetlinkSocketInfo {
    std::uint32_t inode = 0;
    std::uint8_t state = 0;  ///< 1: connected
    std::uint32_t port = 0;  ///< 0: not bound
    std::uint32_t destinationPort = 0;
    std::uint32_t destinationGroup = 0;
};

/// All of the network namespace of the calling thread, as far as they are bound. Empty on kernels that can't list them.
std::vector<NetlinkSocketInfo> readNetlinkSockets();

/// One answer, from behind the netlink header. Throws Error if it is too short to be one.
NetlinkSocketInfo parseNetlinkSocket(std::span<const std::byte> answer);

}  // namespace criu::kernel
