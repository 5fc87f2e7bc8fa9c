// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/auxv.h>

#include <cstddef>
#include <cstdint>

/// Sizes that depend on the processor and the kernel. On some processors, only the running kernel knows the page size,
/// so callers must not use these functions as C++ constants.
namespace criu {

/// Returns the size of a page, which is the unit of mmap(2), in bytes: 4, 16 or 64 KiB.
inline std::size_t machinePageSize() noexcept {
    static const std::size_t size = ::getauxval(AT_PAGESZ);
    return size;
}

/// Returns the first address above all memory of a 64-bit task: the kernel's DEFAULT_MAP_WINDOW. With 52-bit
/// addresses, a mapping lies above this address only if the program passes such an address to mmap(2)
/// (Documentation/arch/arm64/memory.rst).
std::uint64_t taskSize() noexcept;

/// Returns the first address above all memory of a 32-bit task, for all kernels.
constexpr std::uint64_t compatTaskSize() noexcept {
    return 0x100000000;
}

}  // namespace criu
