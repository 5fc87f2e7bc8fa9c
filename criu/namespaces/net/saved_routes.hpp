// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <string>
#include <string_view>

namespace criu::namespaces {

/// Changes the output of `ip route save` (a magic number, then netlink messages) into a form that can be restored.
/// Removes routes to local addresses: the kernel adds them with the addresses, so that IPv6 routes would exist twice.
/// Clears flags of devices without carrier. Throws Error if the output is truncated.
[[nodiscard]] std::string cleanedRoutes(std::string_view saved);

}  // namespace criu::namespaces
