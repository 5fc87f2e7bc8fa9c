// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <string_view>

namespace criu::kernel {

inline constexpr std::string_view kProtectionLine;
inline constexpr std::string_view kLockedProtectionLine;
inline constexpr int kLargeFile = 0400000;

}  // namespace criu::kernel
