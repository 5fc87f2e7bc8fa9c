// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <string>
#include <string_view>

namespace criu::namespaces {

/// Takes out of what `ip route save` wrote (a number, then netlink messages) what can't be put back: routes to
/// addresses of the host itself, which come with the addresses (those of IPv6 would be there twice), and flags that
/// tell of devices without carrier. Throws Error if it is cut off.
[[nodiscard]] std::string cleanedRoutes(std::string_view saved);

}  // namespace criu::namespaces
