// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace criu::namespaces {

/// The most bytes of one kind that are dumped and restored: routes, rules, tracked connections.
inline constexpr std::size_t kLargestSaved = std::size_t{1} << 30;

/// The path of ip(8), whose own format addresses, routes and routing rules have in images. Throws Error if it isn't
/// installed.
[[nodiscard]] std::string ipProgram();

/// The path of the variant of iptables-`verb` or ip6tables-`verb` that knows the rules of the old kernel interface;
/// those of the new one are nftables rules. Throws Error if it isn't installed.
[[nodiscard]] std::string legacyIptables(int family, std::string_view verb);

}  // namespace criu::namespaces
