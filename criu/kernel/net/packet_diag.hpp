// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <linux/packet_diag.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

/// What the kernel reports about packet sockets through NETLINK_SOCK_DIAG (sock_diag(7), <linux/packet_diag.h>).
namespace criu::kernel {

struct PacketSocketInfo {
    std::uint32_t inode = 0;
    int type = 0;
    std::uint16_t protocol = 0;  ///< ETH_P_…, host order
    packet_diag_info info{};
    std::vector<packet_diag_mclist> memberships;
    std::optional<packet_diag_ring> receiveRing;
    std::optional<packet_diag_ring> sendRing;
};

/// All of the network namespace of the calling thread.
std::vector<PacketSocketInfo> readPacketSockets();

/// One answer, from behind the netlink header. Throws Error if it is too short to be one.
PacketSocketInfo parsePacketSocket(std::span<const std::byte> answer);

}  // namespace criu::kernel
