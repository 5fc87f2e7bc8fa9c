// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "criu/base/error.hpp"

namespace criu::fuzz {

/// Runs one of several text parsers: the first byte chooses it, the rest is its input. An Error of the parser is
/// correct.
inline int readByOneOf(std::span<void (*const)(std::string_view)> readers, const std::uint8_t* data, std::size_t size) {
    if (size == 0)
        return 0;
    const std::string_view text(reinterpret_cast<const char*>(data + 1), size - 1);
    try {
        readers[data[0] % readers.size()](text);
    } catch (const Error&) {
    }
    return 0;
}

}  // namespace criu::fuzz
