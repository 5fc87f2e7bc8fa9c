// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/mman.h>

#include <cstdint>

#include "criu/memory/pages/ranges.hpp"
#include "images/vma.hpp"

namespace criu::memory {

inline constexpr std::uint32_t kMapDroppable = 0x08;  ///< MAP_DROPPABLE (Linux 6.11)

inline bool isHuge(const VmaEntry& vma) noexcept {
    return (vma.flags & MAP_HUGETLB) != 0;
}

/// Returns the page size of a mapping. The address of the mapping is a multiple of this size.
inline std::uint64_t pageSizeOf(const VmaEntry& vma) noexcept {
    constexpr int kShift = 26;  // MAP_HUGE_SHIFT: bit position of log2 of the page size in the flags of mmap(2)
    constexpr std::uint64_t kDefault = std::uint64_t{2} << 20;
    if (!isHuge(vma))
        return machinePageSize();
    const std::uint32_t shift = vma.flags >> kShift & 0x3f;
    return shift == 0 ? kDefault : std::uint64_t{1} << shift;
}

}  // namespace criu::memory
