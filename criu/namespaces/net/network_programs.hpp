// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace criu::namespaces {

/// Largest size of one kind of content: routes, rules, tracked connections.
inline constexpr std::size_t kLargestSaved = std::size_t{1} << 30;

/// Returns the path of ip(8), which writes and reads addresses, routes and routing rules of images. Throws Error if it
/// isn't installed.
[[nodiscard]] std::string ipProgram();

/// Returns the path of iptables-`verb` or ip6tables-`verb` for the legacy kernel interface. Rules of the new interface
/// are nftables rules. Throws Error if it isn't installed.
[[nodiscard]] std::string legacyIptables(int family, std::string_view verb);

}  // namespace criu::namespaces
