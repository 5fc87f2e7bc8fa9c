// SPDX-License-Identifier: GPL-2.0-only
#include "criu/memory/clones/clone_file.hpp"

#include <sys/mman.h>

#include <algorithm>

#include "criu/image/record.hpp"
#include "criu/kernel/mm/maps.hpp"
#include "criu/memory/mappings/vma_status.hpp"
#include "criu/memory/pages/page_source.hpp"
#include "criu/memory/pages/ranges.hpp"
#include "images/mm.hpp"

namespace criu::memory {
namespace {

/// Minimum number of bytes of lazy content for which a mapping uses the shared-pages file. A restore fills a mapping
/// with less content itself, because this is faster than page faults.
constexpr std::uint64_t kLeastContent = std::uint64_t{64} << 10;

RangeSet guardsOf(const MmEntry& mm) {
    RangeSet guards;
    for (const VmaEntry* vma : list(mm.vmas, mm.n_vmas))
        if (is(*vma, VmaStatus::Guard))
            guards.add({vma->start, vma->end});
    return guards;
}

bool canBeOfFile(const VmaEntry& vma) noexcept {
    const auto advised = [&vma](int advice) { return vma.has_madv != 0 && (vma.madv >> advice & 1U) != 0; };
    return canBeLazy(vma) && (vma.flags & MAP_TYPE) == MAP_PRIVATE && (vma.flags & MAP_GROWSDOWN) == 0 &&
           !advised(MADV_WIPEONFORK) && !advised(MADV_HUGEPAGE) && vma.end <= kCloneSpan;
}

std::uint64_t lazyContent(const PageSource& pages, const VmaEntry& vma) {
    std::uint64_t bytes = 0;
    pages.forEach(vma.start, vma.end, [&](const PageJob& job) { bytes += job.lazyAllowed ? job.bytes : 0; });
    return bytes;
}

}  // namespace

std::vector<const VmaEntry*> mappingsOfClones(const MmEntry& mm, const PageSource& pages) {
    std::vector<const VmaEntry*> found;
    const RangeSet guards = guardsOf(mm);
    for (const VmaEntry* vma : list(mm.vmas, mm.n_vmas))
        if (canBeOfFile(*vma) && lazyContent(pages, *vma) >= kLeastContent && !guards.overlaps({vma->start, vma->end}))
            found.push_back(vma);
    return found;
}

bool CloneFile::has(const VmaEntry& vma) const noexcept {
    const std::span<const Range> mappings = areas.mappings();
    const auto at = std::lower_bound(mappings.begin(), mappings.end(), vma.start,
                                     [](const Range& mapping, std::uint64_t start) { return mapping.start < start; });
    return at != mappings.end() && *at == Range{vma.start, vma.end} && canBeLazy(vma);
}

bool isOfClones(const kernel::Vma& vma) noexcept {
    return !vma.shared && vma.flags.has(kernel::VmFlag::UffdMinor) && vma.flags.has(kernel::VmFlag::UffdMissing) &&
           vma.name == "/memfd:criu-clones (deleted)";
}

}  // namespace criu::memory
