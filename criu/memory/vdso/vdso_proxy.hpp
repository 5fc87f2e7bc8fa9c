// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "images/core.fwd.hpp"

/// vDSO proxy: dumped vDSO code that jumps into the vDSO of the running kernel. Needed if the kernel's vDSO differs
/// from the dumped vDSO. Pointers into the dumped vDSO stay valid, and its functions work.
namespace criu::memory {

/// Part of a vDSO function that criu has overwritten by a jump.
struct VdsoRedirection {
    std::string name;
    std::uint64_t offset = 0;
    std::uint64_t size = 0;
};

/// Makes functions of the vDSO `old` jump to the functions of the same name in the vDSO `present`. Overwrites the
/// beginning of each such function. `presentAt`: future address of `present`. Throws Error if either vDSO is malformed.
///
/// A function of `old` stays unchanged if `present` lacks it, or if a jump doesn't fit. It then reads zero pages where
/// the dumping kernel had its data. Usually it finds the clock mode 0 there, and makes the system call. Functions for
/// seconds and coarse clocks don't check the mode. A thread that was dumped within such a function may once read 0.
std::vector<VdsoRedirection> redirectVdso(std::span<std::byte> old, std::span<const std::byte> present,
                                          std::uint64_t presentAt);

/// Does for a 32-bit vDSO the same as redirectVdso(). `oldAt`: future address of `old`. Both addresses are below 4 GiB.
std::vector<VdsoRedirection> redirectCompatVdso(std::span<std::byte> old, std::uint64_t oldAt,
                                                std::span<const std::byte> present, std::uint64_t presentAt);

/// Overwrites the beginning of a 32-bit function as writeVdsoJump() does. `at`: future address of `function`. Defined
/// per architecture.
std::size_t writeCompatVdsoJump(std::span<std::byte> function, std::uint64_t at, std::uint64_t target) noexcept;

/// Overwrites the beginning of a function by a jump to `target`, after skipping a landing pad. Returns the number of
/// skipped and overwritten bytes, or 0 without a change if the function is too small. Defined per architecture.
std::size_t writeVdsoJump(std::span<std::byte> function, std::uint64_t target) noexcept;

/// Returns the dumped instruction pointer of a thread. Defined per architecture.
std::uint64_t instructionPointerOf(const CoreEntry& core) noexcept;

}  // namespace criu::memory
