// SPDX-License-Identifier: GPL-2.0-only
// Content of mappings: fills private pages, and creates AIO rings together with their content.
#include <sys/mman.h>

#include <algorithm>
#include <cstring>

#include "criu/base/error.hpp"
#include "criu/base/machine.hpp"
#include "criu/memory/lazy/lazy_areas.hpp"
#include "criu/memory/mappings/address_space.hpp"
#include "criu/memory/mappings/aio_ring.hpp"
#include "criu/memory/mappings/mapping_kinds.hpp"
#include "criu/memory/mappings/own_mappings.hpp"
#include "criu/memory/mappings/vma_pages.hpp"
#include "criu/memory/pages/missing_memory.hpp"
#include "criu/memory/pages/page_reader.hpp"
#include "images/mm.hpp"

namespace criu::memory {

namespace {

/// Size in bytes of the pieces of inherited memory that isOther() tests. Comparing a smaller piece takes negligible
/// time.
constexpr std::uint64_t kComparedPiece = std::uint64_t{4} << 20;
/// Bytes that criu reads at once to compare them with inherited memory.
constexpr std::size_t kCompared = std::size_t{256} << 10;

/// Minimum bytes of content of a mapping for which userfaultfd(2) saves more time than its registration takes.
constexpr std::uint64_t kWorthCopying = std::uint64_t{256} << 10;

/// Calls `visit` with all page jobs of a range. Splits each job into lazy parts and other parts.
template <typename Visit>
void forEachPart(const PageSource& pages, const LazyAreas& late, const Range& range, Visit&& visit) {
    pages.forEach(range.start, range.end, [&](const PageJob& job) { late.forEach(job, visit); });
}

/// Returns true if inherited memory at `here` seems to differ completely from the image. The caller then replaces the
/// whole piece, because a search for equal pages would cost more than it saves. Compares a few pages, which are spread
/// over the piece.
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

/// Drops inherited pages. `range`: addresses in the images.
void drop(PlacedVma& placed, const Range& range) {
    const std::uint64_t at = placed.at + (range.start - placed.vma->start);
    sys(::madvise(reinterpret_cast<void*>(at), range.size(), MADV_DONTNEED), "drop inherited memory at {:#x}", at);
    placed.own.remove(range);
}

/// Returns true if pages of new memory should be copied by userfaultfd(2) instead of read.
bool isWorthCopying(std::span<const PlacedPages> pages, PageReader& reader) {
    std::uint64_t bytes = 0;
    for (const PlacedPages& placed : pages)
        bytes += placed.job.bytes;
    return bytes >= kWorthCopying && std::all_of(pages.begin(), pages.end(), [&](const PlacedPages& placed) {
               return placed.job.present() && reader.canCopy(placed.job);
           });
}

void makeWritable(PlacedVma& placed) {
    if (placed.protection == (PROT_READ | PROT_WRITE))
        return;
    placed.protection = PROT_READ | PROT_WRITE;
    sys(::mprotect(reinterpret_cast<void*>(placed.at), placed.size(), placed.protection),
        "make memory at {:#x} writable", placed.at);
}

/// Returns true if the process can keep the inherited page at `here`. A page of a file isn't private, even if it equals
/// the private page of the images. criu may not even have filled the file yet, if it is a memfd.
bool canKeep(const PlacedVma& placed, const Range& page, const std::byte* here, const std::byte* content) {
    return (!placed.showsFile() || placed.own.covers(page)) && std::memcmp(here, content, kImagePageSize) == 0;
}

bool isAdvised(const VmaEntry& vma, int advice) noexcept {
    return vma.has_madv != 0 && (vma.madv >> advice & 1U) != 0;
}

/// Returns true if a mapping without pages can be a MissingMemory: anonymous memory that page faults wouldn't fill with
/// huge pages, because userfaultfd(2) fills it with small ones. `hugePage`: FillRules::hugePage.
bool canBeMissing(const PlacedVma& placed, std::uint64_t hugePage) {
    const std::uint64_t before = placed.at % hugePage == 0 ? 0 : hugePage - placed.at % hugePage;
    const bool hasRoom = placed.size() > before && placed.size() - before >= hugePage;
    return placed.kind == &anonymousMapping() && !placed.ofClones && !isHuge(*placed.vma) && !hasRoom &&
           !isAdvised(*placed.vma, MADV_HUGEPAGE);
}

/// Advice MADV_HUGEPAGE, if the process had given it, for those ranges in which the image has all pages of a huge page.
/// With this advice, filling is faster, and the process keeps its huge pages. In other ranges, a huge page would use
/// memory that the process didn't use.
class HugePageAdvice {
public:
    /// Adds a range that criu fills. Addresses must ascend within each mapping.
    void add(const PlacedVma& placed, std::uint64_t at, std::uint64_t bytes) {
        const VmaEntry& vma = *placed.vma;
        if (!isAdvised(vma, MADV_HUGEPAGE))
            return;
        if (at != end_) {
            advise();
            start_ = at;
        }
        end_ = at + bytes;
    }
    /// Gives the advice for the range that was added last.
    void finish() { advise(); }

private:
    /// Gives the advice and ignores errors. seal() repeats all advice and reports errors. It also merges the mappings
    /// that this advice has split.
    void advise() {
        constexpr std::uint64_t kHugePage = std::uint64_t{2} << 20;
        constexpr int kMostParts = 1000;  // each advised range temporarily adds two mappings
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
    reader.limitThreads(rules.threads);
    if (rules.frees)
        reader.freeWhatIsRead();
    const LazyAreas& late = rules.late;
    // make_unique_for_overwrite() doesn't clear the buffer, because most processes use little of it.
    const auto block = std::make_unique_for_overwrite<std::byte[]>(kCompared);
    std::vector<PlacedPages> wanted;
    HugePageAdvice advice;
    // Destroyed at the end, so that no later access to an absent page waits.
    MissingMemory missing;
    reader.fillMissing(missing);
    const auto want = [&](PlacedVma& placed, const Range& range) {
        forEachPart(pages, late, range, [&](const PageJob& job, bool isLate) {
            if (job.state == PageJob::State::Absent || isLate)
                return;
            const std::uint64_t at = placed.at + (job.address - placed.vma->start);
            wanted.push_back({job, at});
            if (placed.showsFile())
                placed.own.add({job.address, job.end()});
            advice.add(placed, at, job.bytes);
            restoredPages += job.bytes / kImagePageSize;
        });
    };
    // Wants all pages of a mapping that has no page.
    const auto wantAll = [&](PlacedVma& placed) {
        const std::size_t before = wanted.size();
        want(placed, {placed.vma->start, placed.vma->end});
        const std::span<PlacedPages> added = std::span(wanted).subspan(before);
        if (canBeMissing(placed, rules.hugePage) && isWorthCopying(added, reader) &&
            missing.add({placed.at, placed.at + placed.size()}))
            for (PlacedPages& each : added)
                each.missing = true;
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
            wantAll(placed);
            placed.filled = hasContent;
            continue;
        }
        if (exclusive) {
            drop(placed, {placed.vma->start, placed.vma->end});
            wantAll(placed);
            placed.filled = hasContent;
            continue;
        }
        for (std::uint64_t start = placed.vma->start; start < placed.vma->end; start += kComparedPiece) {
            const Range piece{start, std::min<std::uint64_t>(start + kComparedPiece, placed.vma->end)};
            auto* const here = reinterpret_cast<std::byte*>(placed.at + (start - placed.vma->start));
            // A page of hugetlbfs may be larger than a piece, and the kernel can drop only complete pages.
            const bool huge = (placed.vma->flags & MAP_HUGETLB) != 0;
            if (huge || !isOther(piece, here, pages, late, reader)) {
                fillInherited(placed, piece, pages, late, reader, {block.get(), kCompared});
                continue;
            }
            // After the drop, pages that the image lacks read as zeroes, or as the mapped file.
            drop(placed, piece);
            want(placed, piece);
        }
    }
    advice.finish();
    reader.read(wanted);
    if (!wanted.empty())
        log.debug("{} pages of memory filled", restoredPages);
}

void AddressSpace::fillInherited(PlacedVma& placed, const Range& piece, const PageSource& pages, const LazyAreas& late,
                                 PageReader& reader, std::span<std::byte> block) {
    const std::uint64_t start = placed.vma->start;
    const auto compare = [&](PageJob job) {
        for (const std::uint64_t end = job.end(); job.address < end;) {
            const std::size_t size = std::min<std::uint64_t>(job.bytes, block.size());
            reader.read(job, block.first(size));
            for (std::size_t page = 0; page < size; page += kImagePageSize) {
                auto* const here = reinterpret_cast<std::byte*>(placed.at + (job.address - start) + page);
                const Range target{job.address + page, job.address + page + kImagePageSize};
                ++comparedPages;
                if (canKeep(placed, target, here, block.data() + page)) {
                    ++sharedPages;
                    continue;
                }
                if (placed.showsFile())
                    placed.own.add(target);
                std::memcpy(here, block.data() + page, kImagePageSize);
                ++restoredPages;
            }
            job = job.from(job.address + size);
        }
    };
    forEachPart(pages, late, piece, [&](const PageJob& job, bool isLate) {
        if (job.state != PageJob::State::Absent && !isLate)
            return compare(job);
        // Drops inherited pages that the image of this process lacks, because they must read as zeroes or as the mapped
        // file. Also drops lazy pages: they must be absent.
        drop(placed, {job.address, job.end()});
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
    // The kernel may have created the ring at the final address of another mapping, to which criu moves that mapping
    // later.
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
