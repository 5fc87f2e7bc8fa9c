// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <string_view>

namespace criu::model {

/// Name by which --inherit-fd passes the socket of an external memory provider.
inline constexpr std::string_view kMemoryProvider = "extmem-provider";

}  // namespace criu::model
