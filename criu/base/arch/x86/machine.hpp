// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstddef>
#include <cstdint>

/// Sizes that depend on the processor and the kernel. On some processors, only the running kernel knows the page size,
/// so callers must not use these functions as C++ constants.
namespace criu {

/// Returns the size of a page, which is the unit of mmap(2), in bytes.
constexpr std::size_t machinePageSize() noexcept {
    return 4096;
}

/// Returns the first address above all memory of a 64-bit task: TASK_SIZE of Linux for x86-64 with four levels of page
/// tables. With five levels, a mapping lies above this address only if the program passes such an address to mmap(2)
/// (Documentation/arch/x86/x86_64/5level-paging.rst).
constexpr std::uint64_t taskSize() noexcept {
    return 0x7ffffffff000;
}

/// Returns the first address above all memory of a 32-bit task, for all kernels.
constexpr std::uint64_t compatTaskSize() noexcept {
    return 0x100000000;
}

}  // namespace criu
