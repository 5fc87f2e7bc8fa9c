// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

/// Functions for permanent neighbour entries that a user has added (ip-neighbour(8)). The kernel finds all other
/// neighbours itself. The functions act on the calling thread's network namespace.
namespace criu::kernel {

struct Neighbour {
    std::uint32_t device = 0;            ///< index of the network device
    std::uint8_t family = 0;             ///< AF_INET or AF_INET6
    std::uint8_t flags = 0;              ///< NTF_… flags, for instance NTF_ROUTER
    std::vector<std::byte> address;      ///< IP address in network byte order
    std::vector<std::byte> linkAddress;  ///< hardware address of the neighbour
};

/// Parses one message of the kernel without its netlink header; nullopt unless it is a permanent neighbour. Throws
/// Error if the message is too short.
std::optional<Neighbour> parseNeighbour(std::span<const std::byte> answer);

std::vector<Neighbour> readNeighbours();
/// Lists the ports of bridges that have static entries in the forwarding table of their bridge (bridge(8)), once for
/// each entry. The kernel learns all other entries again.
std::vector<std::uint32_t> readStaticForwarding();
void addNeighbour(const Neighbour& neighbour);

}  // namespace criu::kernel
