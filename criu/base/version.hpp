// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <string_view>

namespace criu {

/// Release of CRIU whose command line, images and protocols this criu implements.
inline constexpr int kVersionMajor = 4;
inline constexpr int kVersionMinor = 2;
inline constexpr std::string_view kVersion = "4.2";

}  // namespace criu
