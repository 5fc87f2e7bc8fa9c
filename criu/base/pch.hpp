// SPDX-License-Identifier: GPL-2.0-only
// Precompiled header with the standard headers that most sources use.
// Include guard by a macro: a precompiled header from the compiler cache may have another path for this file, and
// #pragma once would then include the file twice.
#ifndef CRIU_BASE_PCH_HPP
#define CRIU_BASE_PCH_HPP
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

// Declares an instantiation that libfmt 9 exports, because it took up to a quarter of the compile time. Clang is
// excluded, because it mangles the name differently.
#if FMT_VERSION >= 90000 && FMT_VERSION < 100000 && !defined(FMT_HEADER_ONLY) && !defined(__clang__)
extern template void fmt::v9::detail::vformat_to<char>(buffer<char>&, string_view, format_args, locale_ref);
#endif

#endif  // CRIU_BASE_PCH_HPP
