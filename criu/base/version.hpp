// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <string_view>

namespace criu {

/// The CRIU release whose command line, images and protocols criu implements.
inline constexpr int kVersionMajor = 4;
inline constexpr int kVersionMinor = 2;
inline constexpr std::string_view kVersion = "4.2";

}  // namespace criu
