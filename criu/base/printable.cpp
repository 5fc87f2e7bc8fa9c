// SPDX-License-Identifier: GPL-2.0-only
#include "criu/base/printable.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <iterator>

namespace criu {
namespace {

/// Returns the length in bytes of the first character of a non-empty text; 0 if this character isn't printable.
std::size_t printableBytes(std::string_view text) noexcept {
    const auto first = static_cast<unsigned char>(text.front());
    if (first < 0x80)
        return first >= 0x20 && first != 0x7f ? 1 : 0;
    // Lead bytes of UTF-8, and the smallest character of each length. A character that would fit into a shorter form is
    // invalid.
    struct Form {
        unsigned char mask;
        unsigned char lead;
        std::size_t length;
        std::uint32_t least;
    };
    constexpr std::uint32_t kFirstBehindControls = 0xa0;
    constexpr Form kForms[] = {{0xe0, 0xc0, 2, kFirstBehindControls}, {0xf0, 0xe0, 3, 0x800}, {0xf8, 0xf0, 4, 0x10000}};
    for (const Form& form : kForms) {
        if ((first & form.mask) != form.lead)
            continue;
        if (text.size() < form.length)
            return 0;
        std::uint32_t character = first & static_cast<unsigned char>(~form.mask);
        for (std::size_t i = 1; i < form.length; ++i) {
            const auto next = static_cast<unsigned char>(text[i]);
            if ((next & 0xc0) != 0x80)
                return 0;
            character = character << 6 | (next & 0x3fU);
        }
        const bool surrogate = character >= 0xd800 && character <= 0xdfff;
        return character >= form.least && !surrogate && character <= 0x10ffff ? form.length : 0;
    }
    return 0;
}

}  // namespace

bool isPrintable(std::string_view text) noexcept {
    while (!text.empty()) {
        const std::size_t length = printableBytes(text);
        if (length == 0)
            return false;
        text.remove_prefix(length);
    }
    return true;
}

std::string printable(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    while (!text.empty()) {
        const std::size_t length = printableBytes(text);
        if (length == 0)
            fmt::format_to(std::back_inserter(out), "\\x{:02x}", static_cast<unsigned char>(text.front()));
        else
            out += text.substr(0, length);
        text.remove_prefix(length == 0 ? 1 : length);
    }
    return out;
}

}  // namespace criu
