// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "images/core.fwd.hpp"

/// vDSO proxy: dumped vDSO code that jumps into the vDSO of the running kernel, if the kernels differ. Pointers into
/// the old code stay valid, and its functions work.
namespace criu::memory {

/// Replaced bytes of a function.
struct VdsoRedirection {
    std::string name;
    std::uint64_t offset = 0;
    std::uint64_t size = 0;
};

/// Overwrites the entry of each function in `old` that `present` also has by a jump to it. `presentAt`: future
/// address of `present`. Throws Error if either vDSO is malformed.
/// Code stays if it has no counterpart, or no room for a jump, or a thread stopped within it. It then reads zero
/// pages in place of the kernel's data.
/// A zero clock mode is unreadable for that code, so it makes the system call. Only seconds and coarse clocks are
/// read without a check: a thread that was dumped within such a call may get 0 once.
std::vector<VdsoRedirection> redirectVdso(std::span<std::byte> old, std::span<const std::byte> present,
                                          std::uint64_t presentAt);

/// Redirects the functions of a 32-bit vDSO. `oldAt`: future address of `old`. Both addresses are below 4 GiB.
std::vector<VdsoRedirection> redirectCompatVdso(std::span<std::byte> old, std::uint64_t oldAt,
                                                std::span<const std::byte> present, std::uint64_t presentAt);

/// Architecture: writes a jump like writeVdsoJump(), in 32-bit code. `at`: address of `function`.
std::size_t writeCompatVdsoJump(std::span<std::byte> function, std::uint64_t at, std::uint64_t target) noexcept;

/// Architecture: overwrites the beginning of a function by a jump to `target`. Returns the number of bytes changed or
/// skipped. Returns 0 and changes nothing if the function is too small.
std::size_t writeVdsoJump(std::span<std::byte> function, std::uint64_t target) noexcept;

/// Architecture: returns the instruction pointer of a thread in an image.
std::uint64_t instructionPointerOf(const CoreEntry& core) noexcept;

}  // namespace criu::memory
