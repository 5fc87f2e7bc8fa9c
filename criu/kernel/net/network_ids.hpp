// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <optional>

/// Functions for the ids by which one network namespace refers to another (`nsid`, ip-netns(8)). The kernel uses these
/// ids to report the namespace of a device's peer.
namespace criu::kernel {

/// Returns the nsid of the network namespace with the descriptor `network`, as the calling thread's network namespace
/// assigns it; nullopt if it assigns none.
[[nodiscard]] std::optional<std::int32_t> networkIdOf(int network);

/// Assigns an nsid to the network namespace with the descriptor `network`, within the calling thread's network
/// namespace.
void setNetworkId(int network, std::int32_t id);

}  // namespace criu::kernel
