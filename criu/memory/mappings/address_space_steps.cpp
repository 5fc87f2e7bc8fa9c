// SPDX-License-Identifier: GPL-2.0-only
// Last part of restoring memory: protections, advice and locks, then the restorer's steps that replace criu's memory.
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

#include "criu/base/error.hpp"
#include "criu/memory/mappings/address_space.hpp"
#include "criu/memory/mappings/late_work.hpp"
#include "criu/memory/mappings/mapping_kind.hpp"
#include "criu/memory/mappings/protection.hpp"
#include "criu/memory/mappings/ring_mappings.hpp"

namespace criu::memory {
namespace {

/// Address below which each page gets a filler of its own. The kernel refuses a filler that begins below its lowest
/// address (mmap_min_addr), which is 4096, 32768 or 65536 in most kernels.
constexpr std::uint64_t kFilledByPages = 65536;

constexpr int kGuardInstall = 102;  // MADV_GUARD_INSTALL (Linux 6.13)
constexpr unsigned kMaxAdvice = 63;

bool byProgram(const PlacedVma& placed) {
    return placed.kind->stage() == MapStage::Program;
}

/// Adds steps that fill all addresses, so that the kernel can choose none of them. Ignores a filler mapping that fails:
/// the kernel never chooses an address that a filler can't occupy. The result check of the ring's mapping finds a wrong
/// address.
void occupy(const std::vector<Range>& gaps, pie::StepList& steps) {
    constexpr int kFiller = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE;
    const auto fill = [&steps](std::uint64_t start, std::uint64_t end) {
        if (start < end)
            steps.call(pie::Subject::MapMemory, start, SYS_mmap, start, end - start, PROT_NONE, kFiller, -1, 0).check =
                pie::ResultCheck::Any;
    };
    const std::uint64_t page = machinePageSize();
    for (const Range& gap : gaps) {
        std::uint64_t start = std::max(gap.start, page);  // the kernel never chooses address 0
        for (; start < std::min(gap.end, kFilledByPages); start += page)
            fill(start, start + page);
        fill(start, gap.end);
    }
}

/// Calls `use` for each madvise(2) advice of an entry.
template <typename Use>
void forEachAdvice(const VmaEntry& vma, Use&& use) {
    for (unsigned advice = 0; vma.has_madv != 0 && advice <= kMaxAdvice; ++advice)
        if ((vma.madv >> advice & 1U) != 0)
            use(advice);
}

}  // namespace

void addIoUringSteps(std::span<const RingMapping> rings, const RangeSet& taken, pie::StepList& steps) {
    if (rings.empty())
        return;
    const std::vector<Range> gaps = taken.gaps();
    occupy(gaps, steps);
    for (const RingMapping& ring : rings) {
        const VmaEntry& vma = *ring.vma;
        const std::uint64_t size = vma.end - vma.start;
        steps.call(pie::Subject::MapMemory, vma.start, SYS_munmap, vma.start, size);
        steps
            .call(pie::Subject::MapMemory, vma.start, SYS_mmap, 0, size, protectionOf(vma), MAP_SHARED, ring.fd,
                  vma.pgoff)
            .check = pie::ResultCheck::Equals;
        forEachAdvice(vma, [&](unsigned advice) {
            steps.call(pie::Subject::AdviseMemory, vma.start, SYS_madvise, vma.start, size, advice);
        });
    }
    for (const Range& gap : gaps)
        steps.call(pie::Subject::UnmapOld, gap.start, SYS_munmap, gap.start, gap.size());
}

void AddressSpace::installGuards() const {
    for (const Range& guard : guards_)
        for (const PlacedVma& placed : vmas_) {
            const std::uint64_t from = std::max(guard.start, placed.vma->start);
            const std::uint64_t to = std::min(guard.end, placed.vma->end);
            if (from < to)
                sys(::madvise(reinterpret_cast<void*>(placed.at + (from - placed.vma->start)), to - from,
                              kGuardInstall),
                    "install guard pages at {:#x}", from);
        }
}

void AddressSpace::seal() {
    installGuards();
    for (PlacedVma& placed : vmas_) {
        const VmaEntry& vma = *placed.vma;
        void* const at = reinterpret_cast<void*>(placed.at);
        if (byProgram(placed) || placed.late != LateWork::None)
            continue;
        if (placed.protection != protectionOf(vma)) {
            placed.protection = protectionOf(vma);
            sys(::mprotect(at, placed.size(), placed.protection), "protect memory of {:#x}", vma.start);
        }
        forEachAdvice(vma, [&](unsigned advice) {
            sys(::madvise(at, placed.size(), static_cast<int>(advice)), "madvise({}) memory of {:#x}", advice,
                vma.start);
        });
        const int lockFlags = vma.has_lock_on_fault != 0 && vma.lock_on_fault != 0 ? MLOCK_ONFAULT : 0;
        if ((vma.flags & MAP_LOCKED) != 0 && ::mlock2(at, placed.size(), lockFlags) != 0) {
            // mlock(2) fails with ENOMEM for inaccessible memory, because it can't populate this memory. Even then it
            // marks the memory as locked.
            if (errno != ENOMEM || (vma.prot & PROT_READ) != 0)
                failErrno("lock memory of {:#x}", vma.start);
        }
    }
}

void AddressSpace::addUnmapSteps(const RangeSet& keep, pie::StepList& steps) const {
    RangeSet kept = keep;
    for (const PlacedVma& placed : vmas_)
        if (placed.late != LateWork::Map)
            kept.add({placed.at, placed.at + placed.size()});
    for (const Range& gap : kept.gaps())
        steps.call(pie::Subject::UnmapOld, gap.start, SYS_munmap, gap.start, gap.size());
}

void AddressSpace::addMoveSteps(pie::StepList& steps) const {
    for (const PlacedVma& placed : vmas_) {
        if (!placed.moved())
            continue;
        pie::Step& step = steps.call(pie::Subject::MoveMemory, placed.vma->start, SYS_mremap, placed.at, placed.size(),
                                     placed.size(), MREMAP_MAYMOVE | MREMAP_FIXED, placed.vma->start);
        step.check = pie::ResultCheck::Equals;
    }
}

void AddressSpace::addLateSteps(pie::StepList& steps) const {
    for (const PlacedVma& placed : vmas_) {
        const VmaEntry& vma = *placed.vma;
        if (placed.late == LateWork::Map)
            steps
                .call(pie::Subject::MapMemory, vma.start, SYS_mmap, vma.start, placed.size(), protectionOf(vma),
                      vma.flags | MAP_FIXED_NOREPLACE, -1, 0)
                .check = pie::ResultCheck::EqualsFirst;
        else if (placed.late == LateWork::Protect)
            steps.call(pie::Subject::ProtectMemory, vma.start, SYS_mprotect, vma.start, placed.size(),
                       protectionOf(vma));
    }
}

void AddressSpace::addIoUringSteps(MappedFiles& files, const RangeSet& others, pie::StepList& steps) const {
    std::vector<RingMapping> rings;
    RangeSet taken = others;
    for (const PlacedVma& placed : vmas_) {
        taken.add({placed.vma->start, placed.vma->end});
        if (byProgram(placed))
            if (const auto fd = files.placedRing(*placed.vma))
                rings.push_back({placed.vma, *fd});
    }
    memory::addIoUringSteps(rings, taken, steps);
}

}  // namespace criu::memory
