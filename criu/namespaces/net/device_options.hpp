// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "criu/image/arena.hpp"
#include "criu/kernel/net/rtnl_links.hpp"
#include "images/netdev.hpp"

/// What drivers of network devices tell of them and can be told again (the rest are answers only: timers, states).
namespace criu::namespaces {

/// Those of the options that a device of this kind ("bridge" …) can be made with.
[[nodiscard]] std::vector<kernel::LinkOption> settableOptions(std::string_view kind,
                                                              std::span<const kernel::LinkOption> told);

/// The same for what a device has as a port of a bridge.
[[nodiscard]] std::vector<kernel::LinkOption> settablePortOptions(std::span<const kernel::LinkOption> told);

/// To and from images.
void storeOptions(std::span<const kernel::LinkOption> options, std::size_t& count, LinkOptionEntry**& entries,
                  Arena& arena);
[[nodiscard]] std::vector<kernel::LinkOption> loadOptions(std::size_t count, LinkOptionEntry* const* entries);

}  // namespace criu::namespaces
