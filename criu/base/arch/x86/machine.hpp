// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstddef>
#include <cstdint>

/// Sizes that the processor and its kernel decide. Some processors leave the kernel a choice, so callers may not use
/// these functions where the language wants a constant.
namespace criu {

/// Bytes of a page of memory, the unit of mmap(2).
constexpr std::size_t machinePageSize() noexcept {
    return 4096;
}

/// The first address that no task has memory at: TASK_SIZE of Linux for x86-64 with four levels of page tables. With
/// five levels, memory lies beyond only if a program asks for it there
/// (Documentation/arch/x86/x86_64/5level-paging.rst).
constexpr std::uint64_t taskSize() noexcept {
    return 0x7ffffffff000;
}

/// The same for 32-bit tasks, whatever kernel they run under.
constexpr std::uint64_t compatTaskSize() noexcept {
    return 0x100000000;
}

}  // namespace criu
