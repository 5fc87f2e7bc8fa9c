// SPDX-License-Identifier: GPL-2.0-only
// Precompiled: the standard headers that nearly every source uses.
#pragma once
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>

// libfmt 9 exports this function. Compiling it again in each batch took up to a quarter of the batch's time. Clang
// mangles its name differently.
#if FMT_VERSION >= 90000 && FMT_VERSION < 100000 && !defined(FMT_HEADER_ONLY) && !defined(__clang__)
extern template void fmt::v9::detail::vformat_to<char>(buffer<char>&, string_view, format_args, locale_ref);
#endif
