// SPDX-License-Identifier: GPL-2.0-only
#include "criu/memory/mappings/vma_overlap_check.hpp"

#include <algorithm>
#include <vector>

#include "criu/base/error.hpp"
#include "criu/image/record.hpp"
#include "criu/memory/mappings/vma_status.hpp"
#include "criu/memory/pages/ranges.hpp"
#include "images/mm.hpp"

namespace criu::memory {

void requireNoVmaOverlap(const MmEntry& mm) {
    std::vector<Range> mappings;
    mappings.reserve(mm.n_vmas);
    for (const VmaEntry* vma : list(mm.vmas, mm.n_vmas)) {
        if (is(*vma, VmaStatus::Guard))
            continue;
        if (vma->start >= vma->end)
            fail("memory at {:#x} ends at {:#x}", vma->start, vma->end);
        mappings.push_back({vma->start, vma->end});
    }
    const auto before = [](const Range& one, const Range& other) { return one.start < other.start; };
    if (!std::is_sorted(mappings.begin(), mappings.end(), before))
        std::sort(mappings.begin(), mappings.end(), before);
    for (std::size_t at = 1; at < mappings.size(); ++at)
        if (mappings[at].start < mappings[at - 1].end)
            fail("memory at {:#x} lies within that from {:#x} to {:#x}", mappings[at].start, mappings[at - 1].start,
                 mappings[at - 1].end);
}

}  // namespace criu::memory
