// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <optional>
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

/// Returns the numbers of options with a value other than zero that only a newer criu can restore for a device of this
/// kind.
[[nodiscard]] std::vector<std::uint16_t> unknownOptions(std::string_view kind,
                                                        std::span<const kernel::LinkOption> told);

/// Returns the options with which a restore creates a device of this kind, such as "vlan". It is empty for kinds whose
/// options a restore sets later. `wanted`: result of settableOptions().
[[nodiscard]] std::vector<kernel::LinkOption> creationOptions(std::string_view kind,
                                                              std::vector<kernel::LinkOption> wanted);

/// Returns true if a device of this kind needs a lower device, such as "vlan".
[[nodiscard]] bool needsLower(std::string_view kind) noexcept;

/// Returns the index of the lower device that the options of a vxlan device name; nullopt if they name none, or for
/// other kinds.
[[nodiscard]] std::optional<std::uint32_t> lowerInOptions(std::string_view kind,
                                                          std::span<const kernel::LinkOption> options);

/// Returns the options that a restore can set for a port of a bridge. `told`: options that the kernel shows.
[[nodiscard]] std::vector<kernel::LinkOption> settablePortOptions(std::span<const kernel::LinkOption> told);

/// storeOptions() converts options to image entries, and loadOptions() converts image entries to options.
void storeOptions(std::span<const kernel::LinkOption> options, std::size_t& count, LinkOptionEntry**& entries,
                  Arena& arena);
[[nodiscard]] std::vector<kernel::LinkOption> loadOptions(std::size_t count, LinkOptionEntry* const* entries);

}  // namespace criu::namespaces
