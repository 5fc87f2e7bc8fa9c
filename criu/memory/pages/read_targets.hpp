// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/uio.h>

#include <cstdint>
#include <span>
#include <vector>

/// Reads from a file into several memory ranges (preadv(2)).
namespace criu::memory {

/// Reads bytes from `offset` into the targets, one after another, and removes filled targets from `targets`. Throws
/// Error, also if the file ends before all targets are full.
void readFrom(int file, std::uint64_t offset, std::span<iovec> targets);

/// Removes `bytes` bytes from the front of the targets and returns them as a list. Splits a target that is larger.
[[nodiscard]] std::vector<iovec> takeFront(std::span<iovec>& targets, std::uint64_t bytes);

/// Returns the total size of the targets.
[[nodiscard]] std::uint64_t sizeOf(std::span<const iovec> targets) noexcept;

}  // namespace criu::memory
