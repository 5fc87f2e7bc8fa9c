// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "criu/image/arena.hpp"
#include "criu/kernel/net/rtnl_links.hpp"
#include "images/netdev.hpp"

/// Options that drivers of network devices show and that a restore can set. Read-only ones (timers, states) are left
/// out.
namespace criu::namespaces {

/// Returns the options that a restore can set for a device of this kind ("bridge" …).
[[nodiscard]] std::vector<kernel::LinkOption> settableOptions(std::string_view kind,
                                                              std::span<const kernel::LinkOption> told);

/// Returns the options that a restore can set for a port of a bridge.
[[nodiscard]] std::vector<kernel::LinkOption> settablePortOptions(std::span<const kernel::LinkOption> told);

/// Write options to images and read them from images.
void storeOptions(std::span<const kernel::LinkOption> options, std::size_t& count, LinkOptionEntry**& entries,
                  Arena& arena);
[[nodiscard]] std::vector<kernel::LinkOption> loadOptions(std::size_t count, LinkOptionEntry* const* entries);

}  // namespace criu::namespaces
