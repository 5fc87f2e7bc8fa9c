// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace criu {

/// Returns two lower-case hexadecimal digits for each byte.
[[nodiscard]] std::string toHex(std::span<const std::byte> bytes);
[[nodiscard]] std::string toHex(std::string_view bytes);

/// Parses hexadecimal digits of both cases. Returns nothing if the number of digits is odd, or if the text has other
/// characters.
[[nodiscard]] std::optional<std::vector<std::byte>> parseHex(std::string_view digits);

/// Parses exactly two digits for each byte of `into`. Returns false, and leaves `into` undefined, if the text differs.
[[nodiscard]] bool parseHex(std::string_view digits, std::span<std::byte> into) noexcept;

}  // namespace criu
