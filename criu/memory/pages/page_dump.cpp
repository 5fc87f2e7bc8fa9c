// SPDX-License-Identifier: GPL-2.0-only
#include "criu/memory/pages/page_dump.hpp"

#include <sys/mman.h>

#include <algorithm>

#include "criu/base/error.hpp"
#include "criu/base/machine.hpp"
#include "criu/kernel/mm/pagemap.hpp"
#include "criu/memory/clones/clone_content.hpp"
#include "criu/memory/clones/clone_file.hpp"
#include "criu/memory/lazy/lazy_areas.hpp"
#include "criu/memory/mappings/vma_pages.hpp"
#include "criu/memory/pages/ranges.hpp"
#include "criu/memory/pages/write_tracking.hpp"

namespace criu::memory {
namespace {

using kernel::PageIs;
using kernel::PageRange;
using Clock = std::chrono::steady_clock;

/// Maximum number of jobs and of pages that the search collects before it passes them to the drainer. The drainer
/// copies them while the search continues.
constexpr std::size_t kJobsAtOnce = 4096;
constexpr std::uint64_t kPagesAtOnce = 16384;

/// Maximum size in bytes of unneeded mappings within a page table walk. For a smaller size, passing through is cheaper
/// than a second system call.
constexpr std::uint64_t kSmallDetour = std::uint64_t{16} << 20;

/// Minimum size in bytes of an anonymous mapping that gets a separate walk. In such a walk, the kernel needn't
/// determine the category File.
constexpr std::uint64_t kLargeAnonymous = std::uint64_t{1} << 20;

bool isWhole(const VmaEntry& vma) {
    return is(vma, VmaStatus::Vdso) || is(vma, VmaStatus::AioRing);
}

bool isOfClones(const DumpedVma& vma) {
    return vma.source != nullptr && memory::isOfClones(*vma.source);
}

bool hasPagesToDump(const VmaEntry& vma) {
    return (hasPrivatePages(vma) && (vma.flags & kMapDroppable) == 0) || is(vma, VmaStatus::AioRing);
}

/// Returns true if the mapping may have private pages. Always returns true for hugetlbfs, because the counts of smaps
/// exclude its pages.
bool isTouched(const kernel::Vma& vma) {
    return memory::isOfClones(vma) || vma.anonymous != 0 || vma.swap != 0 || vma.flags.has(kernel::VmFlag::HugeTlb);
}

/// Returns true if related processes may share pages of the mapping copy-on-write. Returns true for a mapping with
/// swapped pages, because smaps shows sharing only for present pages.
bool hasSharedPages(const kernel::Vma& vma) {
    return vma.inCommon != 0 || vma.swap != 0;
}

/// Returns true if the kernel has no page tables to walk for an entry: an area of the kernel, a guard region or device
/// memory.
bool isKernels(const VmaEntry& vma) {
    return is(vma, VmaStatus::Vvar) || is(vma, VmaStatus::Vsyscall) || is(vma, VmaStatus::Guard) ||
           is(vma, VmaStatus::Plugin);
}

std::chrono::microseconds since(Clock::time_point start) {
    return std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - start);
}

/// Returns an estimate of the bytes to dump, for the choice of the storage format.
std::uint64_t expectedBytes(const DumpedMemory& memory) {
    std::uint64_t bytes = 0;
    for (const DumpedVma& vma : memory.vmas)
        if (vma.source != nullptr && hasPagesToDump(*vma.entry))
            bytes += vma.source->flags.has(kernel::VmFlag::HugeTlb) ? vma.entry->end - vma.entry->start
                     : isOfClones(vma)                              ? vma.source->rss + vma.source->swap
                                                                    : vma.source->anonymous + vma.source->swap;
    return bytes;
}

/// Search for the pages of a frozen process that must be dumped.
class PageSearch {
public:
    /// Function that gets the found pages in ascending order of addresses. It may change the list, because PageSearch
    /// clears the list afterwards.
    using Taker = std::function<void(std::vector<DrainJob>&)>;

    /// `stopWanted`: called while the search waits for a shared-pages daemon.
    PageSearch(const PageDumpTask& task, const DumpedMemory& memory, Taker taker, std::function<bool()> stopWanted)
        : task_(task),
          memory_(memory),
          scanner_(task.process, task.mode),
          taker_(std::move(taker)),
          stopWanted_(std::move(stopWanted)),
          findsLittle_(usesParent()) {}

    /// Searches all pages; the caller copies them only after the search. Several threads walk the page tables, because
    /// no thread copies at the same time.
    void runToEnd() {
        findsLittle_ = true;
        run();
    }

    void run() {
        const auto& vmas = memory_.vmas;
        const std::size_t count = vmas.size();
        for (const DumpedVma& vma : vmas)
            if (hasPagesToDump(*vma.entry))
                scanned_ += (vma.entry->end - vma.entry->start) / kImagePageSize;
        for (std::size_t first = 0; first < count;) {
            if (!isScanned(vmas[first])) {
                ++first;
                continue;
            }
            const std::size_t last = endOfWalk(first);
            scan(first, last);
            first = last + 1;
        }
        handOver();
    }

    [[nodiscard]] std::uint64_t scanned() const noexcept { return scanned_; }
    [[nodiscard]] std::uint64_t inParent() const noexcept { return inParent_; }
    [[nodiscard]] std::uint64_t staying() const noexcept { return staying_; }
    [[nodiscard]] const std::vector<Range>& guards() const noexcept { return guards_; }

private:
    [[nodiscard]] bool walksTables() const { return scanner_.mode() == kernel::PagemapScanner::Mode::Scan; }

    /// Returns true if the walk includes the mapping. Includes mappings of files and shared memory only to find guard
    /// regions.
    [[nodiscard]] bool isScanned(const DumpedVma& vma) const {
        const VmaEntry& entry = *vma.entry;
        if (isKernels(entry) || entry.end > taskSize())
            return false;
        if (walksTables())
            return hasPagesToDump(entry) || scanner_.seesGuards();
        return hasPagesToDump(entry) && (isWhole(entry) || isTouched(*vma.source));
    }

    static bool isAnonymous(const DumpedVma& vma) { return vma.source != nullptr && kernel::isAnonymous(*vma.source); }

    static bool isLargeAnonymous(const DumpedVma& vma) {
        return isAnonymous(vma) && vma.entry->end - vma.entry->start >= kLargeAnonymous;
    }

    /// Returns the index of the last mapping in the walk that begins with mapping `first`. Either all mappings of a
    /// walk are large and anonymous, or none of them is.
    [[nodiscard]] std::size_t endOfWalk(std::size_t first) const {
        std::size_t last = first;
        if (!walksTables())
            return last;  // without PAGEMAP_SCAN, even pages that aren't mapped take time
        const bool anonymous = isLargeAnonymous(memory_.vmas[first]);
        for (std::size_t next = first + 1; next < memory_.vmas.size(); ++next) {
            const VmaEntry& vma = *memory_.vmas[next].entry;
            if (vma.end > taskSize())
                break;
            if (anonymous ? !isAnonymous(memory_.vmas[next]) : isLargeAnonymous(memory_.vmas[next]))
                break;
            if (isScanned(memory_.vmas[next]))
                last = next;
            else if (vma.end - vma.start > kSmallDetour)
                break;
        }
        return last;
    }

    /// Walks the page tables of the mappings with indices `first` to `last`.
    void scan(std::size_t first, std::size_t last) {
        kernel::PageQuery query =
            isLargeAnonymous(memory_.vmas[first]) ? kernel::kAnonymousPages : kernel::kPrivatePages;
        query.none = query.none & ~PageIs::Guard;
        query.any = query.any | PageIs::Guard;
        query.report = PageIs::Guard | PageIs::PfnZero;
        if (usesParent())
            query.report = query.report | PageIs::Written | PageIs::Present;
        query.portion = kPagesAtOnce;
        std::size_t at = first;
        const auto vma = [&]() -> const VmaEntry& { return *memory_.vmas[at].entry; };
        const auto take = [&](const PageRange& found) {
            std::uint64_t from = found.start;
            while (from < found.end) {
                for (; at <= last && vma().end <= from; ++at)
                    addWhole(memory_.vmas[at]);
                if (at > last)
                    return;
                from = std::max(from, vma().start);
                const std::uint64_t to = std::min(found.end, vma().end);
                if (from >= to)
                    return;
                add(memory_.vmas[at], {from, to, found.categories});
                from = to;
            }
        };
        const std::uint64_t end = memory_.vmas[last].entry->end;
        if (findsLittle_)
            scanner_.scanAtOnce(vma().start, end, query, take);
        else
            scanner_.scan(vma().start, end, query, take);
        for (; at <= last; ++at)
            addWhole(memory_.vmas[at]);
    }

    void addWhole(const DumpedVma& vma) {
        if (isOfClones(vma))
            for (const Range& range : contentOfClone(task_.process, scanner_, *vma.source, stopWanted_))
                addPages(vma, range.start, range.end);
        else if (isWhole(*vma.entry))
            addPages(vma, vma.entry->start, vma.entry->end);
    }

    void add(const DumpedVma& vma, const PageRange& found) {
        if (any(found.categories & PageIs::Guard))
            addGuard(found.start, found.end);
        else if (hasPagesToDump(*vma.entry) && !isWhole(*vma.entry) && !isOfClones(vma) &&
                 !(any(found.categories & PageIs::PfnZero) && isAnonymous(vma))) {
            if (usesParent() && isClean(vma, found))
                addFromParent(vma, found.start, found.end);
            else
                addPages(vma, found.start, found.end);
        }
    }

    [[nodiscard]] bool usesParent() const noexcept { return task_.tracking != nullptr && task_.parent != nullptr; }

    /// Returns true if no process wrote the pages since the parent dump. Absent pages of file mappings are never clean:
    /// a discarded copy-on-write page can leave a protection mark there that looks like a swapped page.
    [[nodiscard]] bool isClean(const DumpedVma& vma, const PageRange& found) const {
        return !any(found.categories & PageIs::Written) &&
               (any(found.categories & PageIs::Present) || is(*vma.entry, VmaStatus::AnonPrivate)) &&
               task_.tracking->covers(vma.entry->start, vma.entry->end);
    }

    /// Adds clean pages: criu dumps a page only if the parent lacks it.
    void addFromParent(const DumpedVma& vma, std::uint64_t start, std::uint64_t end) {
        task_.parent->forEach(start, end, [&](std::uint64_t from, std::uint64_t to, bool there) {
            if (!there)
                return addPages(vma, from, to);
            inParent_ += (to - from) / kImagePageSize;
            addJob({{from, to - from, PageFlags::Parent}, false});
        });
    }

    void addGuard(std::uint64_t start, std::uint64_t end) {
        if (!guards_.empty() && guards_.back().end == start)
            guards_.back().end = end;
        else
            guards_.push_back({start, end});
    }

    void addPages(const DumpedVma& vma, std::uint64_t start, std::uint64_t end) {
        // Pages that processes of the tree share are eager, because otherwise they wouldn't be shared any more. A clone
        // shares its pages only with processes outside of the tree, so this doesn't apply.
        const bool late = canBeLazy(*vma.entry) && (vma.source->inCommon == 0 || isOfClones(vma));
        if (!late || task_.staying == nullptr)
            return addContent(vma, start, end, late ? PageFlags::Present | PageFlags::Lazy : PageFlags::Present);
        PageJob pages;
        pages.address = start;
        pages.bytes = end - start;
        pages.lazyAllowed = true;
        task_.staying->forEach(pages, [&](const PageJob& part, bool stays) {
            if (!stays)
                return addContent(vma, part.address, part.end(), PageFlags::Present);
            staying_ += part.bytes / kImagePageSize;
            addJob({{part.address, part.bytes, PageFlags::Lazy}, false});
        });
    }

    void addContent(const DumpedVma& vma, std::uint64_t start, std::uint64_t end, PageFlags flags) {
        waiting_ += (end - start) / kImagePageSize;
        // Uses process_vm_readv(2) for pages of clones: /proc/PID/mem can't read pages that a userfaultfd must first
        // supply.
        addJob({{start, end - start, flags}, hasSharedPages(*vma.source) && !isOfClones(vma)});
    }

    void addJob(const DrainJob& job) {
        jobs_.push_back(job);
        if (jobs_.size() >= kJobsAtOnce || waiting_ >= kPagesAtOnce)
            handOver();
    }

    void handOver() {
        taker_(jobs_);
        jobs_.clear();
        waiting_ = 0;
    }

    const PageDumpTask& task_;
    const DumpedMemory& memory_;
    kernel::PagemapScanner scanner_;
    Taker taker_;
    std::function<bool()> stopWanted_;
    bool findsLittle_;  ///< true if threads may walk the page tables, because few pages are copied at the same time
    std::vector<DrainJob> jobs_;
    std::uint64_t waiting_ = 0;  ///< number of pages with content in `jobs_`
    std::vector<Range> guards_;
    std::uint64_t scanned_ = 0;
    std::uint64_t inParent_ = 0;
    std::uint64_t staying_ = 0;
};

DumpedVma guardEntry(const Range& range, Arena& arena) {
    VmaEntry& entry = *arena.make<VmaEntry>();
    entry.start = range.start;
    entry.end = range.end;
    entry.status = bit(VmaStatus::Guard);
    entry.fd = -1;
    return {&entry, nullptr};
}

/// Returns true if a pre-dump skips the mapping: the final dump copies all of it anyway, or its writes can't be
/// tracked.
bool isLeftToDump(const DumpedVma& vma) {
    return isWhole(*vma.entry) || isOfClones(vma) || !hasPagesToDump(*vma.entry) ||
           (vma.entry->flags & MAP_HUGETLB) != 0;
}

}  // namespace

PageDumpResult dumpPages(const PageDumpTask& task, DumpedMemory& memory, PageSinks& sinks, Drainer& drainer,
                         Arena& arena) {
    const auto sink = sinks.open(MemoryObject::process(task.imageId), task.uncountedBytes + expectedBytes(memory));
    DrainSource source{task.pid, &task.process};
    if (task.clone >= 0) {
        source.runningMemory = task.clone;
        source.lost = [&task](std::uint64_t address, std::uint64_t) {
            fail("the clone of process {} is gone: its memory at {:#x} can't be read", task.pid, address);
        };
    }
    Drainer::Run copying(drainer, source, *sink);
    PageSearch search(
        task, memory, [&copying](std::vector<DrainJob>& jobs) { copying.add(jobs); },
        [&drainer] { return drainer.stopWanted(); });
    PageDumpResult result;
    const auto start = Clock::now();
    search.run();
    result.finding = since(start);
    copying.finish();
    result.moving = since(start) - result.finding;
    sink->finish();
    for (const Range& range : search.guards())
        memory.vmas.push_back(guardEntry(range, arena));
    result.pagesScanned = search.scanned();
    result.pagesInParent = search.inParent();
    result.pagesLeftLazy = search.staying();
    result.pagesWritten = sink->contentSize() / kImagePageSize;
    return result;
}

std::uint64_t FoundPages::contentBytes() const noexcept {
    std::uint64_t bytes = 0;
    for (const DrainJob& job : jobs)
        if (has(job.run.flags, PageFlags::Present))
            bytes += job.run.bytes;
    return bytes;
}

FoundPages findPages(const PageDumpTask& task, const DumpedMemory& memory) {
    DumpedMemory wanted;
    std::copy_if(memory.vmas.begin(), memory.vmas.end(), std::back_inserter(wanted.vmas),
                 [](const DumpedVma& vma) { return !isLeftToDump(vma); });
    FoundPages found;
    PageSearch search(
        task, wanted,
        [&found](std::vector<DrainJob>& jobs) { found.jobs.insert(found.jobs.end(), jobs.begin(), jobs.end()); },
        [] { return false; });
    search.runToEnd();
    found.scanned = search.scanned();
    found.inParent = search.inParent();
    return found;
}

}  // namespace criu::memory
