// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <optional>

/// The numbers by which a network namespace knows others (ip-netns(8), "nsid"): by which it reports where its devices'
/// peers are.
namespace criu::kernel {

/// The id that the calling thread's namespace has for another; nothing if it has none. `network`: a descriptor of that.
[[nodiscard]] std::optional<std::int32_t> networkIdOf(int network);

/// Gives another namespace an id in the calling thread's.
void setNetworkId(int network, std::int32_t id);

}  // namespace criu::kernel
