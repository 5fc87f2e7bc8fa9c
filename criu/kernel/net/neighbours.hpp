// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

/// Permanent neighbour entry that a user added (ip-neighbour(8)); the kernel finds other neighbours itself. Calls act
/// on the calling thread's network namespace.
namespace criu::kernel {

struct Neighbour {
    std::uint32_t device = 0;            ///< interface index
    std::uint8_t family = 0;             ///< AF_INET, AF_INET6
    std::uint8_t flags = 0;              ///< NTF_… flags, for instance NTF_ROUTER
    std::vector<std::byte> address;      ///< address of the family
    std::vector<std::byte> linkAddress;  ///< hardware address
};

/// Parses one answer without its netlink header; nullopt unless it is a permanent neighbour. Throws Error if it is
/// too short.
std::optional<Neighbour> parseNeighbour(std::span<const std::byte> answer);

std::vector<Neighbour> readNeighbours();
void addNeighbour(const Neighbour& neighbour);

}  // namespace criu::kernel
