// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstddef>
#include <cstdint>

/// Sizes that the processor and its kernel decide. Some processors leave the page size to the kernel, so callers may
/// not use these functions where C++ requires a constant.
namespace criu {

/// Returns the size of a page in bytes, the unit of mmap(2).
constexpr std::size_t machinePageSize() noexcept {
    return 4096;
}

/// Returns the first address above all memory of a 64-bit task: TASK_SIZE of Linux for x86-64 with four levels of
/// page tables. With five levels, memory lies above it only if a program asks mmap(2) for such an address
/// (Documentation/arch/x86/x86_64/5level-paging.rst).
constexpr std::uint64_t taskSize() noexcept {
    return 0x7ffffffff000;
}

/// Returns the first address above all memory of a 32-bit task, under any kernel.
constexpr std::uint64_t compatTaskSize() noexcept {
    return 0x100000000;
}

}  // namespace criu
