// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "criu/base/unique_fd.hpp"

namespace criu {

/// Call pread(2) or pwrite(2) until all bytes are transferred. Throw Error, also if the file ends too early.
void readAt(int fd, std::span<std::byte> into, std::uint64_t offset);
void writeAt(int fd, std::span<const std::byte> from, std::uint64_t offset);

/// Closes a written file and throws Error if close(2) fails: network file systems and quotas report lost data that
/// late. Closes the descriptor in any case.
void closeWritten(UniqueFd file, std::string_view name);

/// Uses O_DIRECT for a file, if its file system can.
void useDirectIo(int fd) noexcept;

/// Turns O_DIRECT off after a read or write that failed with EINVAL: the kernel refuses addresses and lengths that
/// aren't multiples of the device's block. Returns true if the call should be repeated.
[[nodiscard]] bool endDirectIo(int fd) noexcept;

}  // namespace criu
