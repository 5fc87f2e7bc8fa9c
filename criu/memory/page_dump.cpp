// SPDX-License-Identifier: GPL-2.0-only
#include "criu/memory/page_dump.hpp"

#include <sys/mman.h>

#include <algorithm>

#include "criu/base/error.hpp"
#include "criu/base/machine.hpp"
#include "criu/kernel/pagemap.hpp"
#include "criu/memory/ranges.hpp"

namespace criu::memory {
namespace {

using kernel::PageIs;
using kernel::PageRange;
using Clock = std::chrono::steady_clock;

constexpr std::uint32_t kMapDroppable = 0x08;  // MAP_DROPPABLE (6.11)

/// Jobs are handed over whenever so much has come together, so that they are moved while more is being found.
constexpr std::size_t kJobsAtOnce = 4096;
constexpr std::uint64_t kPagesAtOnce = 16384;

/// A page table walk goes on through mappings of no interest up to this size: that is cheaper than another call.
constexpr std::uint64_t kSmallDetour = std::uint64_t{16} << 20;

bool isWhole(const VmaEntry& vma) {
    return is(vma, VmaStatus::Vdso) || is(vma, VmaStatus::AioRing);
}

bool hasPagesToDump(const VmaEntry& vma) {
    return (hasPrivatePages(vma) && (vma.flags & kMapDroppable) == 0) || is(vma, VmaStatus::AioRing);
}

/// Whether the pages may come after the process runs again (restore --lazy-pages).
bool mayBeLazy(const VmaEntry& vma) {
    return is(vma, VmaStatus::AnonPrivate) && !is(vma, VmaStatus::Vdso) && (vma.flags & MAP_ANONYMOUS) != 0 &&
           (vma.flags & (MAP_LOCKED | MAP_HUGETLB)) == 0;
}

/// Whether any page can be the process' own, by what smaps counted. It doesn't count huge pages.
bool isTouched(const kernel::Vma& vma) {
    return vma.anonymous != 0 || vma.swap != 0 || vma.flags.has(kernel::VmFlag::HugeTlb);
}

/// Pages copied on write that a relative of the process still has in common with it; smaps shows only those that are
/// in memory.
bool hasSharedPages(const kernel::Vma& vma) {
    return vma.inCommon != 0 || vma.swap != 0;
}

/// Whether a mapping has no page tables that can be walked.
bool isKernels(const VmaEntry& vma) {
    return is(vma, VmaStatus::Vvar) || is(vma, VmaStatus::Vsyscall) || is(vma, VmaStatus::Guard) ||
           is(vma, VmaStatus::Plugin);
}

class PageDump {
public:
    PageDump(const PageDumpTask& task, DumpedMemory& memory, PageSinks& sinks, Drainer& drainer, Arena& arena)
        : memory_(memory),
          arena_(arena),
          scanner_(task.process, task.mode),
          sink_(sinks.open(MemoryObject::process(task.imageId))),
          copying_(drainer, {task.pid, &task.process, -1}, *sink_) {}

    PageDumpResult run() {
        const auto start = Clock::now();
        const auto& vmas = memory_.vmas;
        const std::size_t count = vmas.size();
        for (const DumpedVma& vma : vmas)
            if (hasPagesToDump(*vma.entry))
                result_.pagesScanned += (vma.entry->end - vma.entry->start) / kImagePageSize;
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
        result_.finding = since(start);
        copying_.finish();
        result_.moving = since(start) - result_.finding;
        sink_->finish();
        memory_.vmas.insert(memory_.vmas.end(), guards_.begin(), guards_.end());
        result_.pagesWritten = sink_->contentSize() / kImagePageSize;
        return result_;
    }

private:
    static std::chrono::microseconds since(Clock::time_point start) {
        return std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - start);
    }

    [[nodiscard]] bool walksTables() const { return scanner_.mode() == kernel::PagemapScanner::Mode::Scan; }

    /// Mappings of files and shared memory are looked at for guard regions only.
    [[nodiscard]] bool isScanned(const DumpedVma& vma) const {
        const VmaEntry& entry = *vma.entry;
        if (isKernels(entry) || entry.end > taskSize())
            return false;
        if (walksTables())
            return hasPagesToDump(entry) || scanner_.seesGuards();
        return hasPagesToDump(entry) && (isWhole(entry) || isTouched(*vma.source));
    }

    /// The number of the last mapping that the walk which begins at mapping `first` should include.
    [[nodiscard]] std::size_t endOfWalk(std::size_t first) const {
        std::size_t last = first;
        if (!walksTables())
            return last;  // each page costs, also where nothing is mapped
        for (std::size_t next = first + 1; next < memory_.vmas.size(); ++next) {
            const VmaEntry& vma = *memory_.vmas[next].entry;
            if (vma.end > taskSize())
                break;
            if (isScanned(memory_.vmas[next]))
                last = next;
            else if (vma.end - vma.start > kSmallDetour)
                break;
        }
        return last;
    }

    /// One walk over the mappings with numbers `first` to `last`.
    void scan(std::size_t first, std::size_t last) {
        kernel::PageQuery query = kernel::kPrivatePages;
        query.none = query.none & ~PageIs::Guard;
        query.any = query.any | PageIs::Guard;
        query.report = PageIs::Guard;
        query.portion = kPagesAtOnce;
        std::size_t at = first;
        const auto vma = [&]() -> const VmaEntry& { return *memory_.vmas[at].entry; };
        scanner_.scan(vma().start, memory_.vmas[last].entry->end, query, [&](const PageRange& found) {
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
        });
        for (; at <= last; ++at)
            addWhole(memory_.vmas[at]);
    }

    void addWhole(const DumpedVma& vma) {
        if (isWhole(*vma.entry))
            addPages(vma, vma.entry->start, vma.entry->end);
    }

    void add(const DumpedVma& vma, const PageRange& found) {
        if (any(found.categories & PageIs::Guard))
            addGuard(found.start, found.end);
        else if (hasPagesToDump(*vma.entry) && !isWhole(*vma.entry))
            addPages(vma, found.start, found.end);
    }

    void addGuard(std::uint64_t start, std::uint64_t end) {
        if (!guards_.empty() && guards_.back().entry->end == start) {
            guards_.back().entry->end = end;
            return;
        }
        VmaEntry& entry = *arena_.make<VmaEntry>();
        entry.start = start;
        entry.end = end;
        entry.status = bit(VmaStatus::Guard);
        entry.fd = -1;
        guards_.push_back({&entry, nullptr});
    }

    void addPages(const DumpedVma& vma, std::uint64_t start, std::uint64_t end) {
        const PageFlags flags = mayBeLazy(*vma.entry) ? PageFlags::Present | PageFlags::Lazy : PageFlags::Present;
        jobs_.push_back({{start, end - start, flags}, hasSharedPages(*vma.source)});
        waiting_ += (end - start) / kImagePageSize;
        if (jobs_.size() >= kJobsAtOnce || waiting_ >= kPagesAtOnce)
            handOver();
    }

    void handOver() {
        copying_.add(jobs_);
        jobs_.clear();
        waiting_ = 0;
    }

    DumpedMemory& memory_;
    Arena& arena_;
    kernel::PagemapScanner scanner_;
    std::unique_ptr<PageSink> sink_;
    Drainer::Run copying_;
    std::vector<DrainJob> jobs_;
    std::uint64_t waiting_ = 0;  ///< pages of `jobs_`
    std::vector<DumpedVma> guards_;
    PageDumpResult result_;
};

}  // namespace

PageDumpResult dumpPages(const PageDumpTask& task, DumpedMemory& memory, PageSinks& sinks, Drainer& drainer,
                         Arena& arena) {
    return PageDump(task, memory, sinks, drainer, arena).run();
}

}  // namespace criu::memory
