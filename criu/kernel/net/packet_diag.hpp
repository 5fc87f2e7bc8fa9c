// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <linux/packet_diag.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

/// Functions that read packet sockets by NETLINK_SOCK_DIAG (sock_diag(7), <linux/packet_diag.h>).
namespace criu::kernel {

struct PacketSocketInfo {
    std::uint32_t inode = 0;
    int type = 0;
    std::uint16_t protocol = 0;  ///< ETH_P_… value in host byte order
    packet_diag_info info{};
    std::vector<packet_diag_mclist> memberships;
    std::optional<packet_diag_ring> receiveRing;
    std::optional<packet_diag_ring> sendRing;
};

/// Lists all packet sockets of the calling thread's network namespace.
std::vector<PacketSocketInfo> readPacketSockets();

/// Parses one message of the kernel without its netlink header. Throws Error if the message is too short.
PacketSocketInfo parsePacketSocket(std::span<const std::byte> answer);

}  // namespace criu::kernel
