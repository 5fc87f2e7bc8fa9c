// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <optional>

/// Functions for the ids by which one network namespace names another (`nsid`, ip-netns(8)). By such an id, the kernel
/// reports the network namespace of a device's peer.
namespace criu::kernel {

/// Returns the nsid that the calling thread's network namespace has for another one; nullopt if it has none. `network`:
/// descriptor of the other namespace.
[[nodiscard]] std::optional<std::int32_t> networkIdOf(int network);

/// Gives another network namespace an nsid in the calling thread's network namespace. `network`: descriptor of the
/// other namespace.
void setNetworkId(int network, std::int32_t id);

}  // namespace criu::kernel
