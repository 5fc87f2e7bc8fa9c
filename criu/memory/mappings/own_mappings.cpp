// SPDX-License-Identifier: GPL-2.0-only
#include "criu/memory/mappings/own_mappings.hpp"

#include <sys/mman.h>

#include <algorithm>

#include "criu/base/machine.hpp"
#include "criu/kernel/mm/maps.hpp"

namespace criu::memory {
namespace {

constexpr std::uint64_t kStackRoom = std::uint64_t{16} << 20;

constexpr std::uint64_t kHugePage = std::uint64_t{2} << 20;
constexpr int kCollapse = 25;  // MADV_COLLAPSE
/// Minimum size in bytes of a heap that makeHeapHuge() converts. For a smaller heap, the conversion costs more than it
/// saves: writes of children split huge pages.
constexpr std::uint64_t kGrownEnough = 3 * kHugePage;

}  // namespace

RangeSet ownMappings() {
    RangeSet occupied;
    for (const kernel::Vma& vma : kernel::readMaps(kernel::ProcDir().self())) {
        if (vma.start >= taskSize())
            continue;
        const std::uint64_t room = vma.name == "[stack]" ? std::min(kStackRoom, vma.start) : 0;
        occupied.add({vma.start - room, vma.end});
    }
    return occupied;
}

void makeHeapHuge() {
    for (const kernel::Vma& vma : kernel::readMaps(kernel::ProcDir().self())) {
        const std::uint64_t start = (vma.start + kHugePage - 1) & ~(kHugePage - 1);
        const std::uint64_t end = vma.end & ~(kHugePage - 1);
        if (vma.name == "[heap]" && end > start + kGrownEnough)
            (void)::madvise(reinterpret_cast<void*>(start), end - start, kCollapse);
    }
}

}  // namespace criu::memory
