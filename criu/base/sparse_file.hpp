// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>

#include "criu/base/error.hpp"

namespace criu {

/// Returns the number of bytes of storage that a file uses in its file system. It may be less than the size.
[[nodiscard]] inline std::uint64_t bytesInUse(const struct stat& status) noexcept {
    constexpr std::uint64_t kUnit = 512;  // unit of st_blocks, stat(2)
    return static_cast<std::uint64_t>(status.st_blocks) * kUnit;
}

/// Calls `visit(start, end)` for each range of the first `size` bytes that isn't a hole (lseek(2), SEEK_DATA). In
/// tmpfs, such ranges include swapped pages and pages that no process maps. The last `end` may exceed `size`. Changes
/// the file offset. Throws Error.
template <typename Visit>
void forEachData(int file, std::uint64_t size, const Visit& visit) {
    for (std::uint64_t at = 0; at < size;) {
        const off_t data = ::lseek(file, static_cast<off_t>(at), SEEK_DATA);
        if (data < 0 && errno == ENXIO)
            return;  // ENXIO: the rest of the file is a hole
        const off_t hole = ::lseek(file, sys(data, "find data from {:#x} on", at), SEEK_HOLE);
        at = static_cast<std::uint64_t>(sys(hole, "find a hole from {:#x} on", data));
        visit(static_cast<std::uint64_t>(data), at);
    }
}

}  // namespace criu
