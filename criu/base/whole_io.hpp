// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace criu {

/// pread(2) and pwrite(2) of all of it, however many calls that takes. Throw Error, also where the file ends too early.
void readAt(int fd, std::span<std::byte> into, std::uint64_t offset);
void writeAt(int fd, std::span<const std::byte> from, std::uint64_t offset);

}  // namespace criu
