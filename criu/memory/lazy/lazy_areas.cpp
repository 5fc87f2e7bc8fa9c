// SPDX-License-Identifier: GPL-2.0-only
#include "criu/memory/lazy/lazy_areas.hpp"

#include <sys/mman.h>

#include <algorithm>

#include "criu/base/machine.hpp"
#include "criu/image/record.hpp"
#include "criu/memory/mappings/vma_status.hpp"
#include "images/mm.hpp"

namespace criu::memory {

bool canBeLazy(const VmaEntry& vma) noexcept {
    return is(vma, VmaStatus::AnonPrivate) && !is(vma, VmaStatus::Vdso) && !is(vma, VmaStatus::ShadowStack) &&
           (vma.flags & MAP_ANONYMOUS) != 0 && (vma.flags & (MAP_LOCKED | MAP_HUGETLB)) == 0 && vma.end <= taskSize();
}

EagerMemory::EagerMemory(const MmEntry& mm) {
    add({mm.mm_arg_start, mm.mm_arg_end});
    add({mm.mm_env_start, mm.mm_env_end});
}

void EagerMemory::addStack(std::uint64_t pointer) {
    add({pointer, pointer + 1});
}

void EagerMemory::addRseq(std::uint64_t address, std::uint64_t size) {
    add({address, address + size});
}

void EagerMemory::add(const Range& range) {
    if (range.start < range.end)
        ranges_.push_back(range);
}

LazyAreas::LazyAreas(const MmEntry& mm, const EagerMemory& touched) : LazyAreas(list(mm.vmas, mm.n_vmas), touched) {}

LazyAreas::LazyAreas(std::span<const VmaEntry* const> vmas, const EagerMemory& touched) {
    for (const VmaEntry* const vma : vmas) {
        if (!canBeLazy(*vma) || !hasPrivatePages(*vma))
            continue;
        mappings_.push_back({vma->start, vma->end});
        std::vector<Range> inside;
        for (const Range& range : touched.ranges()) {
            const Range pages{range.start & ~(machinePageSize() - 1), pageAlignUp(range.end)};
            if (pages.start < vma->end && vma->start < pages.end)
                inside.push_back(pages);
        }
        std::sort(inside.begin(), inside.end(),
                  [](const Range& one, const Range& other) { return one.start < other.start; });
        std::uint64_t at = vma->start;
        for (const Range& range : inside) {
            if (range.start > at)
                parts_.push_back({at, range.start});
            at = std::max(at, range.end);
        }
        if (at < vma->end)
            parts_.push_back({at, vma->end});
    }
    std::sort(parts_.begin(), parts_.end(),
              [](const Range& one, const Range& other) { return one.start < other.start; });
}

std::vector<Range>::const_iterator LazyAreas::from(std::uint64_t address) const noexcept {
    return std::upper_bound(parts_.begin(), parts_.end(), address,
                            [](std::uint64_t at, const Range& part) { return at < part.end; });
}

}  // namespace criu::memory
