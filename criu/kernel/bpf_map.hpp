// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "criu/base/unique_fd.hpp"

/// Functions for BPF maps, by bpf(2). The calls need CAP_BPF or CAP_SYS_ADMIN if unprivileged BPF is disabled.
namespace criu::kernel {

/// Arguments of BPF_MAP_CREATE. Sizes are in bytes.
struct BpfMapAttributes {
    std::uint32_t type = 0;
    std::uint32_t keySize = 0;
    std::uint32_t valueSize = 0;
    std::uint32_t maxEntries = 0;
    std::uint32_t flags = 0;
    std::uint64_t extra = 0;    ///< map_extra of struct bpf_attr (Linux 5.16)
    std::uint32_t ifindex = 0;  ///< index of the network device of an offloaded map; 0 for other maps
    std::string name;           ///< at most 15 characters
};

/// Elements of a map. `keys` contains all keys without gaps, and `values` all values in the same order.
struct BpfMapContent {
    std::uint32_t count = 0;
    std::vector<std::byte> keys;
    std::vector<std::byte> values;
};

[[nodiscard]] UniqueFd createBpfMap(const BpfMapAttributes& attributes);

/// Opens a new open file description of a map. `flags` is 0, BPF_F_RDONLY or BPF_F_WRONLY. Needs CAP_SYS_ADMIN.
[[nodiscard]] UniqueFd openBpfMap(std::uint32_t mapId, std::uint32_t flags = 0);

/// Attributes that BPF_OBJ_GET_INFO_BY_FD reports and that /proc/PID/fdinfo doesn't show.
struct BpfMapNames {
    std::uint32_t id = 0;
    std::uint32_t ifindex = 0;
    std::string name;
};
[[nodiscard]] BpfMapNames readBpfMapNames(int map);

/// Reads all elements of a hash or array map by BPF_MAP_LOOKUP_BATCH (Linux 5.6). All tasks that use the map must be
/// frozen.
[[nodiscard]] BpfMapContent readBpfMap(int map, const BpfMapAttributes& attributes);

void fillBpfMap(int map, std::uint32_t count, std::span<const std::byte> keys, std::span<const std::byte> values);

/// Makes the kernel refuse later changes of the map from user space (BPF_MAP_FREEZE, Linux 5.2).
void freezeBpfMap(int map);

}  // namespace criu::kernel
