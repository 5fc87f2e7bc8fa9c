// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <string>
#include <string_view>

namespace criu::namespaces {

/// Removes what can't be restored from the output of `ip route save` (a magic number, then netlink messages). Removes
/// routes to local addresses, which the kernel adds with the addresses; those of IPv6 would be there twice. Clears
/// flags of devices without carrier. Throws Error if the text is truncated.
[[nodiscard]] std::string cleanedRoutes(std::string_view saved);

}  // namespace criu::namespaces
