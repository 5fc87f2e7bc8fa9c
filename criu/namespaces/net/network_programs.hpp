// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace criu::namespaces {

/// Maximum bytes of one kind of content, such as routes, rules or tracked connections.
inline constexpr std::size_t kLargestSaved = std::size_t{1} << 30;

/// Returns the path of ip(8), which criu uses to save and restore addresses, routes and routing rules. Throws Error if
/// ip isn't installed.
[[nodiscard]] std::string ipProgram();

/// Returns the path of iptables-`verb` or ip6tables-`verb` for the legacy kernel interface. criu handles rules of the
/// new interface as nftables rules. Throws Error if the program isn't installed.
[[nodiscard]] std::string legacyIptables(int family, std::string_view verb);

}  // namespace criu::namespaces
