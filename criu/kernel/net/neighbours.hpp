// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

/// Neighbours of a network namespace (ip-neighbour(8)) that somebody has entered for good; the others the kernel finds
/// by itself. All calls are about the namespace of the calling thread.
namespace criu::kernel {

struct Neighbour {
    std::uint32_t device = 0;            ///< index
    std::uint8_t family = 0;             ///< AF_INET, AF_INET6
    std::uint8_t flags = 0;              ///< NTF_…: a router, for example
    std::vector<std::byte> address;      ///< of the family
    std::vector<std::byte> linkAddress;  ///< of the hardware
};

/// One answer, from behind the netlink header; nothing if it is no such neighbour. Throws Error if it is too short.
std::optional<Neighbour> parseNeighbour(std::span<const std::byte> answer);

std::vector<Neighbour> readNeighbours();
void addNeighbour(const Neighbour& neighbour);

}  // namespace criu::kernel
