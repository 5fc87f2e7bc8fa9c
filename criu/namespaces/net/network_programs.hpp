// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace criu::namespaces {

/// Maximum bytes of one kind of content, such as routes, rules or tracked connections.
inline constexpr std::size_t kLargestSaved = std::size_t{1} << 30;

/// Returns the path of ip(8). criu dumps and restores addresses, routes and routing rules by this program. Throws Error
/// if ip isn't installed.
[[nodiscard]] std::string ipProgram();

/// Returns the path of iptables-`verb` or ip6tables-`verb` for the legacy kernel interface. Rules of the new interface
/// are nftables rules for criu. Throws Error if the program isn't installed.
[[nodiscard]] std::string legacyIptables(int family, std::string_view verb);

}  // namespace criu::namespaces
