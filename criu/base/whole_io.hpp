// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "criu/base/unique_fd.hpp"

namespace criu {

/// Calls pread(2) until `into` is full. Throws Error, also if the file ends too early.
void readAt(int fd, std::span<std::byte> into, std::uint64_t offset);
void writeAt(int fd, std::span<const std::byte> from, std::uint64_t offset);

/// Closes a file after writing. Throws Error if close(2) fails, because network file systems and quotas may report lost
/// data only then. Closes the descriptor in any case. `name` names the file in messages.
void closeWritten(UniqueFd file, std::string_view name);

/// Sets O_DIRECT for a file if its file system supports it.
void useDirectIo(int fd) noexcept;

/// Clears O_DIRECT after a read or write failed with EINVAL. The kernel refuses addresses and lengths that aren't
/// multiples of the block size of the device. Returns true if the caller should repeat the call.
[[nodiscard]] bool endDirectIo(int fd) noexcept;

}  // namespace criu
