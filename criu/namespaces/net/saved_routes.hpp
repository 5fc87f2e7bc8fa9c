// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <string>
#include <string_view>

namespace criu::namespaces {

/// Returns the output of `ip route save` (a magic number, and then netlink messages) in a form that can be restored.
/// Routes to local addresses are removed, because the kernel adds them with the addresses, and IPv6 routes would exist
/// twice. Flags of devices without carrier are cleared. Throws Error if the output is truncated.
[[nodiscard]] std::string cleanedRoutes(std::string_view saved);

}  // namespace criu::namespaces
