// SPDX-License-Identifier: GPL-2.0-only
#include "criu/memory/mappings/late_work.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <span>

#include "criu/image/record.hpp"
#include "criu/memory/mappings/vma_status.hpp"
#include "criu/memory/pages/page_source.hpp"
#include "images/mm.hpp"

namespace criu::memory {
namespace {

/// Estimated number of mappings that criu itself has in a restored process: programs, libraries, heaps, stacks of
/// threads and temporary mappings.
constexpr std::size_t kOfCriu = 1024;

constexpr int kWritable = PROT_READ | PROT_WRITE;

/// Returns true for memory that mmap(2) and mprotect(2) restore completely.
bool isPlain(const VmaEntry& vma) {
    return vma.status == (VmaStatus::Regular | VmaStatus::AnonPrivate) &&
           (vma.flags & ~static_cast<std::uint32_t>(MAP_NORESERVE)) == (MAP_PRIVATE | MAP_ANONYMOUS) &&
           (vma.has_madv == 0 || vma.madv == 0) && (vma.has_sealed == 0 || vma.sealed == 0) &&
           vma.has_memory_policy == 0;
}

bool isGuarded(const VmaEntry& vma, const VmaEntry& guard) {
    return is(guard, VmaStatus::Guard) && guard.start < vma.end && vma.start < guard.end;
}

/// Returns true if the kernel would merge both mappings into one mapping while both are writable.
bool merge(const VmaEntry& one, const VmaEntry& next) {
    return one.end == next.start && isPlain(one) && isPlain(next) && one.flags == next.flags;
}

/// Calls `visit` with each plain mapping that contains no guard region. The other two arguments are the entries before
/// and after it, or null.
template <typename Visit>
void forEachPlain(std::span<VmaEntry* const> all, Visit&& visit) {
    for (std::size_t i = 0; i < all.size(); ++i) {
        const VmaEntry* const before = i > 0 ? all[i - 1] : nullptr;
        const VmaEntry* const next = i + 1 < all.size() ? all[i + 1] : nullptr;
        // In images, the entry of a guard region directly follows or precedes the mapping that contains the region.
        const bool guarded =
            (before != nullptr && isGuarded(*all[i], *before)) || (next != nullptr && isGuarded(*all[i], *next));
        if (isPlain(*all[i]) && !guarded)
            visit(*all[i], before, next);
    }
}

}  // namespace

LateWork LateWorkPlan::of(const VmaEntry& vma) const noexcept {
    const auto found = work_.find(&vma);
    return found != work_.end() ? found->second : LateWork::None;
}

LateWorkPlan LateWorkPlan::choose(const MmEntry& mm, const PageSource& pages, std::size_t allowed) {
    LateWorkPlan plan;
    const std::size_t room = allowed - std::min(allowed, kOfCriu);
    if (mm.n_vmas <= room)
        return plan;
    const std::size_t wanted = mm.n_vmas - room;
    const auto staysWritable = [&plan](const VmaEntry& vma) {
        const LateWork work = plan.of(vma);
        return work == LateWork::Protect || (work == LateWork::None && static_cast<int>(vma.prot) == kWritable);
    };
    forEachPlain(list(mm.vmas, mm.n_vmas), [&](const VmaEntry& vma, const VmaEntry* before, const VmaEntry* next) {
        if (plan.saved_ >= wanted)
            return;
        if (!pages.covers(vma.start, vma.end)) {
            plan.work_.emplace(&vma, LateWork::Map);
            ++plan.saved_;
            return;
        }
        if (static_cast<int>(vma.prot) == kWritable)
            return;
        const bool joinsBefore = before != nullptr && merge(*before, vma) && staysWritable(*before);
        // The work for `next` isn't chosen yet. But if `next` has content, criu certainly maps it at once.
        const bool joinsNext = next != nullptr && merge(vma, *next) && static_cast<int>(next->prot) == kWritable &&
                               pages.covers(next->start, next->end);
        if (!joinsBefore && !joinsNext)
            return;
        plan.work_.emplace(&vma, LateWork::Protect);
        plan.saved_ += (joinsBefore ? 1 : 0) + (joinsNext ? 1 : 0);
    });
    return plan;
}

std::size_t LateWorkPlan::mostSaved(const MmEntry& mm) {
    std::size_t count = 0;
    forEachPlain(list(mm.vmas, mm.n_vmas), [&count](const VmaEntry&, const VmaEntry*, const VmaEntry*) { ++count; });
    return count;
}

std::size_t LateWorkPlan::leastSaved(const MmEntry& mm) {
    const auto isWritable = [](const VmaEntry& vma) { return static_cast<int>(vma.prot) == kWritable; };
    std::size_t count = 0;
    // Counts mappings that aren't writable but have a writable neighbour. If both have content, late protection merges
    // the two. If one of them has no content, it can be created late.
    forEachPlain(list(mm.vmas, mm.n_vmas), [&](const VmaEntry& vma, const VmaEntry* before, const VmaEntry* next) {
        const bool joins = (before != nullptr && merge(*before, vma) && isWritable(*before)) ||
                           (next != nullptr && merge(vma, *next) && isWritable(*next));
        count += joins && !isWritable(vma) ? 1 : 0;
    });
    // A mapping without content between two such mappings counts twice, but saves only one mapping.
    return count / 2;
}

}  // namespace criu::memory
