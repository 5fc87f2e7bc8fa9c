// SPDX-License-Identifier: GPL-2.0-only
#include <algorithm>

#include "criu/image/pagemap.hpp"

namespace criu {

PageStripes::Place PageStripes::place(std::uint64_t position) const noexcept {
    if (files.size() == 1)
        return {0, position, UINT64_MAX - position};
    const std::uint64_t number = position / piece;
    const std::uint64_t within = position % piece;
    return {number % files.size(), number / files.size() * piece + within, piece - within};
}

std::uint64_t PageStripes::sizeOf(std::size_t file, std::uint64_t contentSize) const noexcept {
    if (files.size() == 1)
        return contentSize;
    const std::uint64_t round = piece * files.size();
    const std::uint64_t rest = contentSize % round;
    const std::uint64_t before = std::min(rest, file * piece);
    return contentSize / round * piece + std::min(rest - before, piece);
}

}  // namespace criu
