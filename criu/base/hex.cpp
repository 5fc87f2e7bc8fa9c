// SPDX-License-Identifier: GPL-2.0-only
#include "criu/base/hex.hpp"

namespace criu {
namespace {

/// Returns the value of a hexadecimal digit, or nothing for another character.
constexpr std::optional<unsigned> valueOfDigit(char digit) noexcept {
    if (digit >= '0' && digit <= '9')
        return static_cast<unsigned>(digit - '0');
    if (digit >= 'a' && digit <= 'f')
        return static_cast<unsigned>(digit - 'a') + 10;
    if (digit >= 'A' && digit <= 'F')
        return static_cast<unsigned>(digit - 'A') + 10;
    return std::nullopt;
}

}  // namespace

std::string toHex(std::span<const std::byte> bytes) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::string text;
    text.reserve(2 * bytes.size());
    for (const std::byte each : bytes) {
        text += kDigits[std::to_integer<unsigned>(each >> 4)];
        text += kDigits[std::to_integer<unsigned>(each & std::byte{0xf})];
    }
    return text;
}

std::string toHex(std::string_view bytes) {
    return toHex(std::as_bytes(std::span(bytes)));
}

std::optional<std::vector<std::byte>> parseHex(std::string_view digits) {
    std::vector<std::byte> bytes(digits.size() / 2);
    if (!parseHex(digits, bytes))
        return std::nullopt;
    return bytes;
}

bool parseHex(std::string_view digits, std::span<std::byte> into) noexcept {
    if (digits.size() != 2 * into.size())
        return false;
    for (std::byte& each : into) {
        const auto high = valueOfDigit(digits[0]);
        const auto low = valueOfDigit(digits[1]);
        if (!high || !low)
            return false;
        each = static_cast<std::byte>(*high << 4 | *low);
        digits.remove_prefix(2);
    }
    return true;
}

}  // namespace criu
