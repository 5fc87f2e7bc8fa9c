// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "images/core.fwd.hpp"

/// Code of one kernel's vDSO that leads into another's: for processes restored under a kernel that they weren't dumped
/// under. Addresses into the old code that a process holds stay valid, and its functions work.
namespace criu::memory {

/// Bytes of a function that were replaced.
struct VdsoRedirection {
    std::string name;
    std::uint64_t offset = 0;
    std::uint64_t size = 0;
};

/// Overwrites the entry of each function in `old` that `present` has, too, with a jump there. `presentAt`: the address
/// where `present` will lie. Throws Error if one of either is malformed.
///
/// Code that isn't replaced, for lack of room or of a counterpart, and code that a thread is in the midst of, finds
/// pages of zeroes where the kernel's data were. To it the clock is one that it can't read, so it makes the system
/// call. Only the present seconds and coarse clocks are taken from the data without a look: a thread that was dumped
/// within such a call may get 0 from it, once.
std::vector<VdsoRedirection> redirectVdso(std::span<std::byte> old, std::span<const std::byte> present,
                                          std::uint64_t presentAt);

/// The same of vDSOs for 32-bit tasks. `oldAt`: the address where `old` will lie; like the other, below 4 GiB.
std::vector<VdsoRedirection> redirectCompatVdso(std::span<std::byte> old, std::uint64_t oldAt,
                                                std::span<const std::byte> present, std::uint64_t presentAt);

/// Architecture: the same as writeVdsoJump() in the code of 32-bit tasks; `at`: the address of `function`.
std::size_t writeCompatVdsoJump(std::span<std::byte> function, std::uint64_t at, std::uint64_t target) noexcept;

/// Architecture: writes a jump to `target` over the beginning of a function. Returns the bytes changed or skipped, 0 if
/// there isn't enough room; then nothing is changed.
std::size_t writeVdsoJump(std::span<std::byte> function, std::uint64_t target) noexcept;

/// Architecture: where a thread of an image goes on.
std::uint64_t instructionPointerOf(const CoreEntry& core) noexcept;

}  // namespace criu::memory
