// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <optional>

/// Ids by which a network namespace knows other ones (`nsid`, ip-netns(8)). The kernel uses them to report the
/// namespaces of device peers.
namespace criu::kernel {

/// Returns the nsid of another namespace in the calling thread's; nullopt if it has none. `network`: descriptor of
/// the other namespace.
[[nodiscard]] std::optional<std::int32_t> networkIdOf(int network);

/// Assigns another namespace an nsid in the calling thread's.
void setNetworkId(int network, std::int32_t id);

}  // namespace criu::kernel
