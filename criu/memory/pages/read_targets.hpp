// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/uio.h>

#include <cstdint>
#include <span>
#include <vector>

/// Reading a file into several places of memory at once.
namespace criu::memory {

/// Reads from `offset` on into the targets, one behind the other, which are used up. Throws Error, also if the file
/// ends before they are full.
void readFrom(int file, std::uint64_t offset, std::span<iovec> targets);

/// Takes targets of `bytes` bytes altogether from the front. One that has more is cut in two.
[[nodiscard]] std::vector<iovec> takeFront(std::span<iovec>& targets, std::uint64_t bytes);

/// What they have room for together.
[[nodiscard]] std::uint64_t sizeOf(std::span<const iovec> targets) noexcept;

}  // namespace criu::memory
