// SPDX-License-Identifier: GPL-2.0-only
#include "criu/image/stream_format.hpp"

#include <algorithm>

namespace criu::stream {

bool isFileName(std::string_view name) noexcept {
    constexpr std::size_t kLongest = 255;
    const auto good = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
               c == '-';
    };
    return !name.empty() && name.size() <= kLongest && name.front() != '.' && name.ends_with(".img") &&
           std::all_of(name.begin(), name.end(), good);
}

}  // namespace criu::stream
