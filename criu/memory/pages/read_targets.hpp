// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/uio.h>

#include <cstdint>
#include <span>
#include <vector>

/// Scatter reads from a file into memory.
namespace criu::memory {

/// Reads from `offset` on into the targets, one after another, and consumes them. Throws Error, also if the file ends
/// before.
void readFrom(int file, std::uint64_t offset, std::span<iovec> targets);

/// Takes targets of `bytes` bytes in total from the front. Splits a larger target.
[[nodiscard]] std::vector<iovec> takeFront(std::span<iovec>& targets, std::uint64_t bytes);

/// Returns the total size of the targets.
[[nodiscard]] std::uint64_t sizeOf(std::span<const iovec> targets) noexcept;

}  // namespace criu::memory
