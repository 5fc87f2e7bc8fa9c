// SPDX-License-Identifier: GPL-2.0-only
// Precompiled header: standard headers that most sources use.
// Macro instead of #pragma once: a precompiled header from the compiler cache may name this file by another path.
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

// Declares a function that libfmt 9 exports. Its instantiation took up to a quarter of a batch's compile time. Clang
// mangles its name differently.
#if FMT_VERSION >= 90000 && FMT_VERSION < 100000 && !defined(FMT_HEADER_ONLY) && !defined(__clang__)
extern template void fmt::v9::detail::vformat_to<char>(buffer<char>&, string_view, format_args, locale_ref);
#endif

#endif  // CRIU_BASE_PCH_HPP
