// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "criu/image/arena.hpp"
#include "criu/kernel/net/rtnl_links.hpp"
#include "images/netdev.hpp"

/// Options of network devices that a restore can set, without read-only options (timers, states).
namespace criu::namespaces {

/// Returns the options that a restore can set for a device of this kind, such as "bridge". `told`: options that the
/// kernel shows.
[[nodiscard]] std::vector<kernel::LinkOption> settableOptions(std::string_view kind,
                                                              std::span<const kernel::LinkOption> told);

/// Returns the options that a restore can set for a port of a bridge. `told`: options that the kernel shows.
[[nodiscard]] std::vector<kernel::LinkOption> settablePortOptions(std::span<const kernel::LinkOption> told);

/// storeOptions() converts options to image entries, and loadOptions() converts image entries to options.
void storeOptions(std::span<const kernel::LinkOption> options, std::size_t& count, LinkOptionEntry**& entries,
                  Arena& arena);
[[nodiscard]] std::vector<kernel::LinkOption> loadOptions(std::size_t count, LinkOptionEntry* const* entries);

}  // namespace criu::namespaces
