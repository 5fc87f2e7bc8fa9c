// SPDX-License-Identifier: GPL-2.0-only
// What is in memory: private pages, and rings of asynchronous I/O, which are made with their content.
#include <sys/mman.h>

#include <algorithm>
#include <cstring>

#include "criu/base/error.hpp"
#include "criu/base/machine.hpp"
#include "criu/memory/lazy/lazy_areas.hpp"
#include "criu/memory/mappings/address_space.hpp"
#include "criu/memory/mappings/aio_ring.hpp"
#include "criu/memory/mappings/mapping_kind.hpp"
#include "criu/memory/mappings/own_mappings.hpp"
#include "criu/memory/pages/page_reader.hpp"
#include "images/mm.hpp"

namespace criu::memory {

namespace {

/// Memory that came with fork is looked at in pieces of this size: below it, comparing takes no time worth speaking of.
constexpr std::uint64_t kComparedPiece = std::uint64_t{4} << 20;
/// What is read at once for that.
constexpr std::size_t kCompared = std::size_t{256} << 10;

/// Visits the jobs of a range, cut where it changes whether they may come late.
template <typename Visit>
void forEachPart(const PageSource& pages, const LazyAreas& late, const Range& range, Visit&& visit) {
    pages.forEach(range.start, range.end, [&](const PageJob& job) { late.forEach(job, visit); });
}

/// Whether a piece of inherited memory, which is at `here`, seems to have another content altogether than the image:
/// then it isn't worth the time to look for pages that are the same, nor to copy the others into pages that the kernel
/// has to copy first. A few pages all over it are compared.
bool isOther(const Range& piece, const std::byte* here, const PageSource& pages, const LazyAreas& late,
             PageReader& reader) {
    constexpr std::uint64_t kSamples = 16;
    if (piece.size() < kComparedPiece)
        return false;
    std::vector<std::byte> page(kImagePageSize);
    bool any = false;
    bool same = false;
    for (std::uint64_t offset = 0; offset < piece.size() && !same; offset += kComparedPiece / kSamples) {
        const std::uint64_t start = piece.start + offset;
        forEachPart(pages, late, {start, start + kImagePageSize}, [&](const PageJob& job, bool isLate) {
            if (job.state == PageJob::State::Absent || isLate)
                return;
            reader.read(job, page);
            any = true;
            same = std::memcmp(here + offset, page.data(), kImagePageSize) == 0;
        });
    }
    return any && !same;
}

void drop(std::uint64_t at, std::uint64_t bytes) {
    sys(::madvise(reinterpret_cast<void*>(at), bytes, MADV_DONTNEED), "drop inherited memory at {:#x}", at);
}

/// Memory that had asked for huge pages is filled into such, where the image has all of a huge page: it is faster, and
/// the process has them again at once. Elsewhere a huge page would take memory that wasn't in use.
class HugePageAdvice {
public:
    /// Takes note of content that comes to `at`. In ascending order for each mapping.
    void add(const PlacedVma& placed, std::uint64_t at, std::uint64_t bytes) {
        const VmaEntry& vma = *placed.vma;
        if (vma.has_madv == 0 || (vma.madv >> MADV_HUGEPAGE & 1U) == 0)
            return;
        if (at != end_) {
            advise();
            start_ = at;
        }
        end_ = at + bytes;
    }
    /// All of it has been added.
    void finish() { advise(); }

private:
    /// That it can't be done is found when all advice is given (seal()), which also makes one mapping of these again.
    void advise() {
        constexpr std::uint64_t kHugePage = std::uint64_t{2} << 20;
        constexpr int kMostParts = 1000;  // each makes two mappings more for a while
        const std::uint64_t from = (start_ + kHugePage - 1) / kHugePage * kHugePage;
        const std::uint64_t to = end_ / kHugePage * kHugePage;
        if (from < to && parts_++ < kMostParts)
            (void)::madvise(reinterpret_cast<void*>(from), to - from, MADV_HUGEPAGE);
    }

    std::uint64_t start_ = 0;
    std::uint64_t end_ = 0;
    int parts_ = 0;
};

}  // namespace

void AddressSpace::fill(const PageSource& pages, const FillRules& rules, Content which, Log& log) {
    PageReader reader(pages, {}, rules.watch);
    if (rules.frees)
        reader.freeWhatIsRead();
    const LazyAreas& late = rules.late;
    // Not cleared: most processes need little of it, or nothing.
    const auto block = std::make_unique_for_overwrite<std::byte[]>(kCompared);
    std::vector<PlacedPages> wanted;
    HugePageAdvice advice;
    const auto want = [&](const PlacedVma& placed, const Range& range) {
        forEachPart(pages, late, range, [&](const PageJob& job, bool isLate) {
            if (job.state == PageJob::State::Absent || isLate)
                return;
            const std::uint64_t at = placed.at + (job.address - placed.vma->start);
            wanted.push_back({job, at});
            advice.add(placed, at, job.bytes);
            restoredPages += job.bytes / kImagePageSize;
        });
    };
    for (PlacedVma& placed : vmas_) {
        const bool exclusive = placed.vma->exclusive != 0;
        if (placed.complete || (exclusive && which == Content::ForChildren) || !hasPrivatePages(*placed.vma))
            continue;
        placed.complete = true;
        const bool hasContent = pages.covers(placed.vma->start, placed.vma->end);
        if (hasContent && placed.inherited)
            makeWritable(placed);
        if (!placed.filled) {
            want(placed, {placed.vma->start, placed.vma->end});
            placed.filled = hasContent;
            continue;
        }
        if (exclusive) {
            drop(placed.at, placed.size());
            want(placed, {placed.vma->start, placed.vma->end});
            placed.filled = hasContent;
            continue;
        }
        for (std::uint64_t start = placed.vma->start; start < placed.vma->end; start += kComparedPiece) {
            const Range piece{start, std::min<std::uint64_t>(start + kComparedPiece, placed.vma->end)};
            auto* const here = reinterpret_cast<std::byte*>(placed.at + (start - placed.vma->start));
            // Huge pages of hugetlbfs may be larger than a piece, and are dropped as a whole only.
            const bool huge = (placed.vma->flags & MAP_HUGETLB) != 0;
            if (huge || !isOther(piece, here, pages, late, reader)) {
                fillInherited(placed, piece, pages, late, reader, {block.get(), kCompared});
                continue;
            }
            // Pages that the image lacks read as zero, or as the file says, from now on.
            drop(placed.at + (start - placed.vma->start), piece.size());
            want(placed, piece);
        }
    }
    advice.finish();
    reader.read(wanted);
    if (!wanted.empty())
        log.debug("{} pages of memory filled", restoredPages);
}

void AddressSpace::makeWritable(PlacedVma& placed) {
    if (placed.protection == (PROT_READ | PROT_WRITE))
        return;
    placed.protection = PROT_READ | PROT_WRITE;
    sys(::mprotect(reinterpret_cast<void*>(placed.at), placed.size(), placed.protection),
        "make memory at {:#x} writable", placed.at);
}

void AddressSpace::fillInherited(const PlacedVma& placed, const Range& piece, const PageSource& pages,
                                 const LazyAreas& late, PageReader& reader, std::span<std::byte> block) {
    const std::uint64_t start = placed.vma->start;
    const auto compare = [&](PageJob job) {
        for (const std::uint64_t end = job.end(); job.address < end;) {
            const std::size_t size = std::min<std::uint64_t>(job.bytes, block.size());
            reader.read(job, block.first(size));
            for (std::size_t page = 0; page < size; page += kImagePageSize) {
                auto* const here = reinterpret_cast<std::byte*>(placed.at + (job.address - start) + page);
                ++comparedPages;
                if (std::memcmp(here, block.data() + page, kImagePageSize) == 0) {
                    ++sharedPages;
                    continue;
                }
                std::memcpy(here, block.data() + page, kImagePageSize);
                ++restoredPages;
            }
            job = job.from(job.address + size);
        }
    };
    forEachPart(pages, late, piece, [&](const PageJob& job, bool isLate) {
        if (job.state != PageJob::State::Absent && !isLate)
            return compare(job);
        // Pages the creator wrote but this process doesn't have read as zero or as the file says; where pages are to
        // come, there must be none.
        drop(placed.at + (job.address - start), job.bytes);
    });
}

void AddressSpace::createAioRings(const model::Task& task, const PageSource& pages) {
    const MmEntry& mm = **task.mm;
    for (const AioRingEntry* ring : list(mm.aios, mm.n_aios)) {
        const auto all = list(mm.vmas, mm.n_vmas);
        const auto vma = std::find_if(all.begin(), all.end(), [&](const VmaEntry* candidate) {
            return is(*candidate, VmaStatus::AioRing) && candidate->start == ring->id;
        });
        const ErrorContext context([&] { return fmt::format("ring of asynchronous I/O at {:#x}", ring->id); });
        if (vma == all.end())
            fail("there is no such memory");
        createAioRing(*ring, **vma, pages, mm);
    }
}

void AddressSpace::createAioRing(const AioRingEntry& ring, const VmaEntry& vma, const PageSource& pages,
                                 const MmEntry& mm) {
    std::vector<std::byte> content(vma.end - vma.start);
    PageReader reader(pages);
    pages.forEach(vma.start, vma.end, [&](const PageJob& job) {
        if (job.state != PageJob::State::Absent)
            reader.read(job, std::span(content).subspan(job.address - vma.start, job.bytes));
    });
    PlacedVma placed;
    placed.vma = &vma;
    placed.kind = &mappingKindOf(vma);
    placed.mapped = true;
    placed.protection = PROT_READ | PROT_WRITE;
    const Range made = makeAioRing(ring, content);
    // The kernel's choice may be where other memory will be moved to.
    RangeSet occupied = ownMappings();
    if (occupied.overlaps({vma.start, vma.end}))
        for (const VmaEntry* other : list(mm.vmas, mm.n_vmas))
            if (other->start < taskSize())
                occupied.add({other->start, other->end});
    choosePlace(placed, occupied);
    void* const at = ::mremap(reinterpret_cast<void*>(made.start), made.size(), made.size(),
                              MREMAP_MAYMOVE | MREMAP_FIXED, reinterpret_cast<void*>(placed.at));
    if (at == MAP_FAILED)
        failErrno("move it from {:#x} to {:#x}", made.start, placed.at);
    vmas_.push_back(placed);
}

}  // namespace criu::memory
