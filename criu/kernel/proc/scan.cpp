// SPDX-License-Identifier: GPL-2.0-only
#include "criu/kernel/proc/scan.hpp"

namespace criu::kernel {

namespace {

constexpr bool isOctal(char digit) noexcept {
    return digit >= '0' && digit <= '7';
}

}  // namespace

std::string decodeOctal(std::string_view text, std::string_view escaped) {
    std::string out;
    out.reserve(text.size());
    for (std::size_t at = 0; at < text.size(); ++at) {
        if (text[at] == '\\' && text.size() - at > 3 && isOctal(text[at + 1]) && isOctal(text[at + 2]) &&
            isOctal(text[at + 3])) {
            const int code = (text[at + 1] - '0') * 64 + (text[at + 2] - '0') * 8 + (text[at + 3] - '0');
            const char byte = static_cast<char>(static_cast<unsigned char>(code));
            if (code < 256 && escaped.find(byte) != std::string_view::npos) {
                out += byte;
                at += 3;
                continue;
            }
        }
        out += text[at];
    }
    return out;
}

}  // namespace criu::kernel
