// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/dump/memory/dump_memory.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <deque>
#include <future>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "criu/base/error.hpp"
#include "criu/base/log.hpp"
#include "criu/base/stop_request.hpp"
#include "criu/base/thread_pool.hpp"
#include "criu/engine/dump/frozen_tree.hpp"
#include "criu/engine/dump/memory/dump_lazy_pages.hpp"
#include "criu/engine/dump/memory/memory_layout.hpp"
#include "criu/engine/dump/memory/memory_snapshots.hpp"
#include "criu/engine/dump/memory/memory_tracking.hpp"
#include "criu/engine/dump/memory/step_out_of_vdso.hpp"
#include "criu/engine/statistics.hpp"
#include "criu/image/arena.hpp"
#include "criu/image/image_dir.hpp"
#include "criu/memory/mappings/mapping_policies.hpp"
#include "criu/memory/mappings/vma_dump.hpp"
#include "criu/memory/pages/drain.hpp"
#include "criu/memory/pages/page_dump.hpp"
#include "criu/memory/pages/parent_pages.hpp"
#include "criu/memory/pages/write_tracking.hpp"
#include "criu/memory/shmem/segments_dump.hpp"
#include "criu/memory/shmem/sysv_shm.hpp"
#include "criu/model/options.hpp"
#include "images/mm.hpp"

namespace criu::engine {
namespace {

/// Returns start, end, flags and status of all mappings with private pages, to compare the dump with an early dump.
std::vector<std::array<std::uint64_t, 4>> privateMemory(const memory::DumpedMemory& memory) {
    std::vector<std::array<std::uint64_t, 4>> found;
    for (const memory::DumpedVma& vma : memory.vmas)
        if (memory::hasPrivatePages(*vma.entry))
            found.push_back({vma.entry->start, vma.entry->end, vma.entry->flags, vma.entry->status});
    return found;
}

std::vector<kernel::Vma> readMappings(const kernel::ProcPid& process, const Log& log) {
    const TracedWork reading(log, "read mappings");
    return kernel::readSmaps(process);
}

/// Also reads the access modes of mapped files, which collect() would read for one process after the other.
std::vector<kernel::Vma> readMappingsAhead(const kernel::ProcPid& process, const Log& log) {
    std::vector<kernel::Vma> mappings = readMappings(process, log);
    try {
        for (kernel::Vma& vma : mappings)
            if (vma.inode != 0)
                vma.access = memory::ProcMappedFiles::access(process, vma);
    } catch (const Error&) {
        // Ignored: collect() reads an access mode that it needs, and reports the failure.
        return mappings;
    }
    return mappings;
}

}  // namespace

class DumpMemory::Work {
public:
    explicit Work(const Inputs& inputs)
        : pages(inputs.pages), inputs_(inputs), snapshots_(inputs.tree, inputs.options.backgroundMemory, inputs.log) {}

    void lookAhead(FrozenTree& tree);
    Collected collect(FrozenTask& task, memory::MappedFileDump& files, bool seccompSuspended);
    void dumpAhead(std::size_t index, Amounts& amounts, StopRequest& stop);
    void run(const model::IdMap& owners, Amounts& amounts, StopRequest& stop);
    void runInBackground(Amounts& amounts, StopRequest& stop);
    void writeSysvShm(std::uint32_t namespaceId, const model::IdMap& owners, StopRequest& stop);
    [[nodiscard]] bool sawUprobes() const noexcept;

    memory::PageSinks& pages;
    memory::SegmentsDump segments;

private:
    struct Item {
        FrozenTask* task = nullptr;  ///< process, valid while the tree is frozen
        HostPid pid;
        HostPid actor;  ///< see FrozenTask::actor()
        TreePid imageId;
        /// Memory snapshot from which the dump reads the pages; null if it reads from the process.
        std::shared_ptr<MemoryClone> clone;
        MmEntry* mm = nullptr;
        std::vector<kernel::Vma> vmas;
        memory::DumpedMemory memory;
        /// Tracking of writes to the process' memory; null if the process isn't tracked.
        memory::WriteTracking* writes = nullptr;
        std::shared_ptr<const memory::LazyAreas> staying;  ///< lazy areas of the process; null without --lazy-pages
        /// Bytes of private pages if `vmas` lacks the fields of smaps until the process runs again; otherwise 0.
        std::uint64_t lateBytes = 0;
        /// Bytes of private pages if `vmas` has flags, but no sizes; otherwise 0.
        std::uint64_t uncountedBytes = 0;
        std::atomic<bool> taken{false};  ///< true when a thread dumps the pages, or has dumped them
    };
    /// State for draining pages. Each thread that dumps whole processes has one.
    struct Mover {
        explicit Mover(memory::Drainer::Options how) : drainer(std::move(how)) {}
        memory::Drainer drainer;
        Arena arena;
        DumpStatistics statistics;
    };

    void readVmas(Item& item);
    void completeVmas(Item& item);
    bool takeSnapshot(Item& item);
    [[nodiscard]] std::uint64_t expectedBytes() const;
    static bool isSmall(const Item& item);
    [[nodiscard]] memory::Drainer::Options howToMove(Amounts& amounts, StopRequest& stop) const;
    static void requireClone(const Item& item, std::string_view reason);
    void dumpPages(Item& item, Mover& mover);
    void takeOver(Item& item, const memory::EarlyDump& written, Mover& mover, Amounts& amounts);
    void writeMm(Item& item, const memory::PageDumpResult& result, Mover& mover);
    void runSmall(std::span<Item* const> items, const memory::Drainer::Options& how, StopRequest& stop);
    void add(const Mover& mover);
    void dumpTaken(Item& item, const memory::Drainer::Options& how);
    void finishAhead();

    const Inputs inputs_;
    Arena arena_;
    std::deque<Item> items_;
    memory::SysvShmDump sysvShm_;
    MemorySnapshots snapshots_;
    std::mutex moversMutex_;    ///< protects `movers_` and `idle_`
    std::deque<Mover> movers_;  ///< movers of dumpAhead(): at most one for each thread
    std::vector<Mover*> idle_;  ///< elements of `movers_` that no thread uses
    std::map<HostPid, std::future<std::vector<kernel::Vma>>> ahead_;
    std::optional<ThreadPool> readers_;  // last member: destroyed first, because its threads use the other members
};

void DumpMemory::Work::lookAhead(FrozenTree& tree) {
    constexpr std::size_t kWorthwhile = 8;
    if (availableCores() == 1 || tree.tasks().size() < kWorthwhile)
        return;
    readers_.emplace(availableCores() - 1);
    for (const auto& task : tree.tasks()) {
        if (!task->alive())
            continue;
        auto read = std::make_shared<std::packaged_task<std::vector<kernel::Vma>()>>(
            [&dir = task->dir, &log = inputs_.log] { return readMappingsAhead(dir, log); });
        ahead_.emplace(task->pid(), read->get_future());
        readers_->submit([read] { (*read)(); });
    }
}

/// Reads the mappings of a process. Reads only /proc/PID/maps if a snapshot can supply the other fields later.
void DumpMemory::Work::readVmas(Item& item) {
    FrozenTask& task = *item.task;
    if (const auto read = ahead_.find(item.pid); read != ahead_.end()) {
        item.vmas = read->second.get();
        return;
    }
    if (inputs_.options.background && !inputs_.options.dryRun) {
        const TracedWork reading(inputs_.log, "read mappings");
        if (auto late = readMapsOnly(inputs_.tree, task, segments.rules(), inputs_.log)) {
            item.vmas = std::move(late->maps);
            item.lateBytes = late->bytes;
            return;
        }
    }
    if (inputs_.flagReader != nullptr) {
        const TracedWork reading(inputs_.log, "read mappings");
        if (auto uncounted = readMapsAndFlags(*inputs_.flagReader, inputs_.tree, task, inputs_.log)) {
            item.vmas = std::move(uncounted->maps);
            item.uncountedBytes = uncounted->bytes;
            return;
        }
    }
    item.vmas = readMappings(task.dir, inputs_.log);
}

/// Adds the fields of smaps that the dump hasn't read yet.
void DumpMemory::Work::completeVmas(Item& item) {
    if (item.lateBytes == 0)
        return;
    const ErrorContext context([&] { return fmt::format("process {}", item.pid); });
    try {
        addSmapsFields(item.vmas,
                       readMappings(item.clone ? filesOf(*item.clone).directory : item.task->dir, inputs_.log));
        requireClone(item, "");
    } catch (const Error& error) {
        requireClone(item, error.what());
        throw;
    }
    if (item.clone) {
        // All pages of a clone are shared with the process. readMapsOnly() has made sure that the tree shares no
        // others, and restores only ask for processes of the tree.
        for (kernel::Vma& vma : item.vmas)
            vma.inCommon = 0;
    }
    item.lateBytes = 0;
    memory::addSmaps(item.memory);
}

/// Makes a memory snapshot of a process for --background. Returns false if there is none.
bool DumpMemory::Work::takeSnapshot(Item& item) {
    if (item.lateBytes != 0) {
        item.clone = snapshots_.takeWithoutSmaps(*item.task, item.vmas, item.memory);
        if (item.clone)
            return true;
        completeVmas(item);
    }
    item.clone = snapshots_.take(*item.task, item.vmas, item.memory);
    return item.clone != nullptr;
}

DumpMemory::Collected DumpMemory::Work::collect(FrozenTask& task, memory::MappedFileDump& files,
                                                bool seccompSuspended) {
    Item& item = items_.emplace_back();
    item.task = &task;
    item.pid = task.pid();
    item.actor = task.actor();
    item.imageId = task.treePid();
    item.mm = arena_.make<MmEntry>();
    readVmas(item);
    if (!inputs_.early.contains(item.pid))  // stepping would change memory that is already in the images
        stepOutOfVdso(task, item.vmas, inputs_.log);
    item.writes = inputs_.tracking.add(task, item.vmas, seccompSuspended);
    memory::VmaDumpRules rules = segments.rules();
    rules.allowUprobes = inputs_.options.allowUprobes;
    rules.refusals = &inputs_.refusals;
    item.memory = memory::dumpVmas(item.vmas, rules, files, arena_);
    std::vector<const VmaEntry*> entries;
    std::vector<VmaEntry*> asked;
    for (const memory::DumpedVma& vma : item.memory.vmas) {
        entries.push_back(vma.entry);
        asked.push_back(vma.entry);
        if (is(*vma.entry, memory::VmaStatus::SysvIpc))
            sysvShm_.add(*vma.entry);
    }
    fillMemoryLayout(task, entries, *item.mm, arena_);
    item.memory.fill(*item.mm, arena_);  // without the fields that the dump of pages sets
    return {*item.mm, std::make_shared<memory::PolicyQueries>(std::move(asked), arena_), items_.size() - 1};
}

void DumpMemory::Work::dumpAhead(std::size_t index, Amounts& amounts, StopRequest& stop) {
    Item& item = items_[index];
    const model::Options& options = inputs_.options;
    const bool needsTracer = options.lazyPages || options.background || inputs_.tracking.used() || item.task->hasRings;
    if (!readers_ || needsTracer || inputs_.early.contains(item.pid) || !isSmall(item))
        return;
    memory::Drainer::Options how = howToMove(amounts, stop);
    how.threads = 1;
    readers_->submit([this, &item, how = std::move(how)] {
        if (!item.taken.exchange(true))
            dumpTaken(item, how);
    });
}

/// Dumps a process in a thread of `readers_`.
void DumpMemory::Work::dumpTaken(Item& item, const memory::Drainer::Options& how) {
    Mover* mover = nullptr;
    {
        const std::scoped_lock lock(moversMutex_);
        if (idle_.empty()) {
            mover = &movers_.emplace_back(how);
        } else {
            mover = idle_.back();
            idle_.pop_back();
        }
    }
    dumpPages(item, *mover);
    const std::scoped_lock lock(moversMutex_);
    idle_.push_back(mover);
}

/// Waits for the threads of dumpAhead(). Throws the failure of a thread.
void DumpMemory::Work::finishAhead() {
    if (!readers_)
        return;
    readers_->wait();
    readers_.reset();
    for (const Mover& mover : movers_)
        add(mover);
}

/// Returns an estimate of the bytes to drain. Counts clean pages, too, because the dump doesn't know yet which pages
/// the parent images have.
std::uint64_t DumpMemory::Work::expectedBytes() const {
    std::uint64_t bytes = 0;
    for (const Item& item : items_) {
        bytes += item.lateBytes + item.uncountedBytes;
        for (const kernel::Vma& vma : item.vmas)
            bytes += vma.privateBytes();
    }
    return bytes;
}

/// Returns true if the process has so little memory that one thread should drain it.
bool DumpMemory::Work::isSmall(const Item& item) {
    std::uint64_t bytes = item.uncountedBytes;
    for (const kernel::Vma& vma : item.vmas)
        bytes += vma.privateBytes();
    return bytes < memory::kWorthThreads;
}

/// Throws Error if another process has killed the item's clone: the kernel has removed its pages, but a read doesn't
/// fail. `reason`: text of the failure that the end of the clone has caused; empty without a failure.
void DumpMemory::Work::requireClone(const Item& item, std::string_view reason) {
    if (!item.clone || isStopped(*item.clone))
        return;
    fail("the clone of process {} was killed{}{}", item.pid, reason.empty() ? "" : ": ", reason);
}

void DumpMemory::Work::dumpPages(Item& item, Mover& mover) {
    const ErrorContext context([&] { return fmt::format("process {}", item.pid); });
    memory::PageDumpTask task{item.actor, item.imageId, item.clone ? filesOf(*item.clone).directory : item.task->dir};
    if (item.clone)
        task.clone = filesOf(*item.clone).memory;
    task.staying = item.staying.get();
    task.uncountedBytes = item.uncountedBytes;
    std::optional<memory::ParentPages> parent;
    if (item.writes != nullptr && inputs_.tracking.parentIsKnown())
        parent = pages.parentOf(memory::MemoryObject::process(task.imageId));
    if (parent) {
        task.tracking = item.writes;
        task.parent = &*parent;
    }
    const memory::PageDumpResult result = [&] {
        const TracedWork dumping(inputs_.log, "dump pages");
        try {
            const memory::PageDumpResult moved =
                memory::dumpPages(task, item.memory, pages, mover.drainer, mover.arena);
            requireClone(item, "");
            return moved;
        } catch (const Error& error) {
            requireClone(item, error.what());
            throw;
        }
    }();
    mover.statistics.memoryWrite += result.moving;
    if (item.writes != nullptr && inputs_.tracking.continues())
        item.writes->restart(item.task->dir, item.vmas);
    writeMm(item, result, mover);
}

/// Writes the mm image of a process whose pages the dump has written to a sink.
void DumpMemory::Work::writeMm(Item& item, const memory::PageDumpResult& result, Mover& mover) {
    mover.statistics.pagesScanned += result.pagesScanned;
    mover.statistics.pagesWritten += result.pagesWritten;
    mover.statistics.pagesSkippedParent += result.pagesInParent;
    mover.statistics.pagesLazy += result.pagesLeftLazy;
    item.memory.fill(*item.mm, mover.arena);
    ImageWriter image = inputs_.images.create(ImageKind::Mm, static_cast<std::uint64_t>(item.imageId.value));
    image.write(*item.mm);
    image.finish();
}

/// Completes a process with early pages.
void DumpMemory::Work::takeOver(Item& item, const memory::EarlyDump& written, Mover& mover, Amounts& amounts) {
    const ErrorContext context([&] { return fmt::format("process {}", item.pid); });
    if (privateMemory(written.memory) != privateMemory(item.memory))
        fail("its memory isn't what it was when its pages were written, though it stands still");
    for (const memory::DumpedVma& vma : written.memory.vmas)
        if (memory::is(*vma.entry, memory::VmaStatus::Guard))
            item.memory.vmas.push_back(vma);
    amounts.done += written.result.pagesWritten * kImagePageSize;
    writeMm(item, written.result, mover);
}

/// Dumps small processes in parallel: each thread dumps one process after the other.
void DumpMemory::Work::runSmall(std::span<Item* const> items, const memory::Drainer::Options& how, StopRequest& stop) {
    const unsigned threads = static_cast<unsigned>(std::min<std::size_t>(availableCores(), items.size()));
    std::deque<Mover> movers;
    std::atomic<std::size_t> next{0};
    const auto work = [&](Mover& mover) {
        try {
            for (std::size_t at = next++; at < items.size() && !stop.requested(); at = next++)
                dumpPages(*items[at], mover);
        } catch (...) {
            next = items.size();  // after a failure, the other threads find no item any more
            throw;
        }
    };
    memory::Drainer::Options alone = how;
    alone.threads = 1;
    for (unsigned i = 0; i < threads; ++i)
        movers.emplace_back(alone);
    {
        std::optional<ThreadPool> helpers;
        if (threads > 1)
            helpers.emplace(threads - 1);
        for (unsigned i = 1; i < threads; ++i)
            helpers->submit([&, i] { work(movers[i]); });
        work(movers[0]);
        if (helpers)
            helpers->wait();
    }
    stop.throwIfRequested();
    for (const Mover& mover : movers)
        add(mover);
}

void DumpMemory::Work::add(const Mover& mover) {
    inputs_.statistics.pagesScanned += mover.statistics.pagesScanned;
    inputs_.statistics.pagesWritten += mover.statistics.pagesWritten;
    inputs_.statistics.pagesSkippedParent += mover.statistics.pagesSkippedParent;
    inputs_.statistics.pagesLazy += mover.statistics.pagesLazy;
    inputs_.statistics.memoryWrite += mover.statistics.memoryWrite;
    inputs_.statistics.bufferBytes += mover.drainer.bufferBytes();
}

memory::Drainer::Options DumpMemory::Work::howToMove(Amounts& amounts, StopRequest& stop) const {
    memory::Drainer::Options how;
    how.progress = [&amounts](std::uint64_t bytes) { amounts.done.fetch_add(bytes, std::memory_order_relaxed); };
    how.stopWanted = [&stop] { return stop.requested(); };
    if (inputs_.log.isTraced())
        how.block = [&log = inputs_.log](std::chrono::steady_clock::time_point begin, std::uint64_t bytes) {
            log.noteWork("copy pages", begin, bytes);
        };
    return how;
}

void DumpMemory::Work::run(const model::IdMap& owners, Amounts& amounts, StopRequest& stop) {
    inputs_.tracking.begin();
    const memory::Drainer::Options how = howToMove(amounts, stop);
    amounts.total = expectedBytes();

    const Stopwatch watch(inputs_.statistics.memoryDump);
    Mover mover(how);
    std::vector<Item*> small;
    for (Item& item : items_) {
        stop.throwIfRequested();
        if (item.taken.exchange(true))
            continue;
        if (const auto written = inputs_.early.find(item.pid); written != inputs_.early.end()) {
            takeOver(item, written->second, mover, amounts);
            continue;
        }
        // Reads registers, and so must run in the tracer; dumpPages() runs in other threads. A process with rings has
        // no lazy areas, because the kernel uses the rings' memory before lazy pages arrive.
        if (inputs_.options.lazyPages && !item.task->hasRings)
            item.staying = lazyAreasAtSource(*item.task, item.memory, *item.mm);
        if (inputs_.options.background && takeSnapshot(item))
            continue;
        if (isSmall(item)) {
            small.push_back(&item);
            continue;
        }
        dumpPages(item, mover);
    }
    if (!small.empty())
        runSmall(small, how, stop);
    stop.throwIfRequested();
    finishAhead();
    for (const std::uint32_t id : sysvShm_.ids())
        segments.reserve(id);
    const memory::SegmentsDumpResult shared = segments.write(inputs_.images, pages, owners, mover.drainer);
    inputs_.statistics.sharedPagesScanned += shared.pagesScanned;
    inputs_.statistics.sharedPagesWritten += shared.pagesWritten;
    inputs_.statistics.memoryWrite += shared.moving;
    add(mover);
}

void DumpMemory::Work::runInBackground(Amounts& amounts, StopRequest& stop) {
    memory::Drainer::Options how = howToMove(amounts, stop);
    how.stopWanted = [this, &stop] {
        snapshots_.requireRoom();
        return stop.requested();
    };
    const Stopwatch watch(inputs_.statistics.memoryDump);
    Mover mover(how);
    for (Item& item : items_) {
        if (!item.clone)
            continue;
        stop.throwIfRequested();
        completeVmas(item);
        dumpPages(item, mover);
        item.clone.reset();
    }
    add(mover);
}

void DumpMemory::Work::writeSysvShm(std::uint32_t namespaceId, const model::IdMap& owners, StopRequest& stop) {
    memory::Drainer::Options how;
    how.stopWanted = [&stop] { return stop.requested(); };
    memory::Drainer drainer(how);
    inputs_.statistics.sharedPagesWritten += sysvShm_.write(inputs_.images, pages, namespaceId, owners, drainer);
}

bool DumpMemory::Work::sawUprobes() const noexcept {
    return std::any_of(items_.begin(), items_.end(), [](const Item& item) { return item.memory.uprobes; });
}

DumpMemory::DumpMemory(const Inputs& inputs) : work_(std::make_unique<Work>(inputs)) {}

DumpMemory::~DumpMemory() = default;

memory::PageSinks& DumpMemory::pages() noexcept {
    return work_->pages;
}

std::vector<std::string> DumpMemory::extensions() const {
    return work_->pages.extensions();
}

memory::SegmentsDump& DumpMemory::segments() noexcept {
    return work_->segments;
}

void DumpMemory::reserve(std::uint32_t shmid) {
    work_->segments.reserve(shmid);
}

void DumpMemory::lookAhead(FrozenTree& tree) {
    work_->lookAhead(tree);
}

DumpMemory::Collected DumpMemory::collect(FrozenTask& task, memory::MappedFileDump& files, bool seccompSuspended) {
    return work_->collect(task, files, seccompSuspended);
}

void DumpMemory::dumpAhead(const Collected& process, Amounts& amounts, StopRequest& stop) {
    work_->dumpAhead(process.index, amounts, stop);
}

void DumpMemory::run(const model::IdMap& owners, Amounts& amounts, StopRequest& stop) {
    work_->run(owners, amounts, stop);
}

void DumpMemory::runInBackground(Amounts& amounts, StopRequest& stop) {
    work_->runInBackground(amounts, stop);
}

void DumpMemory::writeSysvShm(std::uint32_t namespaceId, const model::IdMap& owners, StopRequest& stop) {
    work_->writeSysvShm(namespaceId, owners, stop);
}

bool DumpMemory::sawUprobes() const noexcept {
    return work_->sawUprobes();
}

}  // namespace criu::engine
