// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>

#include "criu/base/error.hpp"

namespace criu {

/// What a file takes of its file system, whatever its size is.
[[nodiscard]] inline std::uint64_t bytesInUse(const struct stat& status) noexcept {
    constexpr std::uint64_t kUnit = 512;  // of st_blocks, stat(2)
    return static_cast<std::uint64_t>(status.st_blocks) * kUnit;
}

/// Calls `visit(start, end)` for each part of the first `size` bytes of a file that isn't a hole (lseek(2), SEEK_DATA).
/// Of tmpfs and shared memory that includes pages that are swapped out, and those that no process has mapped. The last
/// end may lie behind `size`. Changes the file's offset. Throws Error.
template <typename Visit>
void forEachData(int file, std::uint64_t size, const Visit& visit) {
    for (std::uint64_t at = 0; at < size;) {
        const off_t data = ::lseek(file, static_cast<off_t>(at), SEEK_DATA);
        if (data < 0 && errno == ENXIO)
            return;  // nothing but a hole up to the end
        const off_t hole = ::lseek(file, sys(data, "find data from {:#x} on", at), SEEK_HOLE);
        at = static_cast<std::uint64_t>(sys(hole, "find a hole from {:#x} on", data));
        visit(static_cast<std::uint64_t>(data), at);
    }
}

}  // namespace criu
