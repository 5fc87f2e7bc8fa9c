// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/dump_memory.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>

#include "criu/base/error.hpp"
#include "criu/memory/aio_ring.hpp"
#include "criu/memory/sysv_shm.hpp"
#include "images/mm.hpp"

namespace criu::engine {
namespace {

/// Files behind mappings become path entries, found through /proc/PID/map_files.
class MappedPaths final : public memory::ProcMappedFiles {
public:
    MappedPaths(FrozenTask& task, FileCollector& files, memory::SegmentsDump& segments, device::DumpDevices& devices)
        : ProcMappedFiles(task.dir, segments, files), task_(task), files_(files), devices_(devices) {}

    FileId fileFor(const kernel::Vma& vma) override {
        return files_.addLink(task_, fmt::format("map_files/{:x}-{:x}", vma.start, vma.end),
                              vma.shared ? static_cast<std::uint32_t>(accessOf(vma)) : 0, true);
    }

    bool claimsDevice(const kernel::Vma& vma, FileId& file) override {
        if (vma.inode == 0)
            return false;
        const UniqueFd fd = open(task_.dir, vma, O_PATH);
        device::MappedDevice mapped{task_.pid(), vma, fd.get(), {}};
        sys(::fstat(fd.get(), &mapped.stat), "look at the device at {:#x}", vma.start);
        if (!devices_.claims(mapped))
            return false;
        file = fileFor(vma);
        return true;
    }

    FileId socketFor(const kernel::Vma& vma) override {
        return files_.open(FD_TYPES__PACKETSK, ::makedev(vma.devMajor, vma.devMinor), vma.inode);
    }

    FileId ioUringFor(const kernel::Vma& vma) override {
        return files_.open(FD_TYPES__IO_URING, ::makedev(vma.devMajor, vma.devMinor), vma.inode);
    }

private:
    FrozenTask& task_;
    FileCollector& files_;
    device::DumpDevices& devices_;
};

}  // namespace

void DumpMemory::lookAhead(FrozenTree& tree) {
    constexpr std::size_t kWorthwhile = 8;
    if (availableCores() == 1 || tree.tasks().size() < kWorthwhile)
        return;
    readers_.emplace(availableCores() - 1);
    for (const auto& task : tree.tasks()) {
        if (!task->alive())
            continue;
        auto read = std::make_shared<std::packaged_task<std::vector<kernel::Vma>()>>(
            [&dir = task->dir] { return kernel::readSmaps(dir); });
        ahead_.emplace(task->pid(), read->get_future());
        readers_->submit([read] { (*read)(); });
    }
}

MmEntry& DumpMemory::collect(FrozenTask& task) {
    Item& item = items_.emplace_back();
    item.task = &task;
    item.mm = arena_.make<MmEntry>();
    const auto read = ahead_.find(task.pid());
    item.vmas = read == ahead_.end() ? kernel::readSmaps(task.dir) : read->second.get();
    MappedPaths paths(task, files_, segments_, devices_);
    memory::VmaDumpRules rules = segments_.rules();
    rules.allowUprobes = options_.allowUprobes;
    item.memory = memory::dumpVmas(item.vmas, rules, paths, arena_);
    std::vector<const VmaEntry*> entries;
    for (const memory::DumpedVma& vma : item.memory.vmas) {
        entries.push_back(vma.entry);
        if (is(*vma.entry, memory::VmaStatus::SysvIpc))
            sysvShm_.add(*vma.entry);
    }
    memory::storeAioRings(task.pid(), entries, *item.mm, arena_);
    return *item.mm;
}

/// Whether one thread is enough for its pages.
bool DumpMemory::isSmall(const Item& item) {
    std::uint64_t bytes = 0;
    for (const kernel::Vma& vma : item.vmas)
        bytes += vma.anonymous + vma.swap;
    return bytes < memory::kWorthThreads;
}

void DumpMemory::dumpPages(Item& item, Mover& mover) {
    const ErrorContext context([&] { return fmt::format("process {}", item.task->pid()); });
    const memory::PageDumpTask task{item.task->pid(), item.task->pid(), item.task->dir};
    const memory::PageDumpResult result =
        memory::dumpPages(task, item.memory, images_, pagesIds_, mover.drainer, mover.arena);
    mover.statistics.pagesScanned += result.pagesScanned;
    mover.statistics.pagesWritten += result.pagesWritten;
    mover.statistics.memoryWrite += result.moving;
    item.memory.fill(*item.mm, mover.arena);
    ImageWriter image = images_.create(ImageKind::Mm, static_cast<std::uint64_t>(task.imageId));
    image.write(*item.mm);
    image.finish();
}

/// Many small processes: each thread takes one at a time.
void DumpMemory::runSmall(std::span<Item* const> items, const memory::Drainer::Options& how, Progress& progress,
                          StopRequest& stop) {
    const unsigned threads = static_cast<unsigned>(std::min<std::size_t>(availableCores(), items.size()));
    std::deque<Mover> movers;
    std::atomic<std::size_t> next{0};
    const auto work = [&](Mover& mover, bool shows) {
        try {
            for (std::size_t at = next++; at < items.size() && !stop.requested(); at = next++) {
                dumpPages(*items[at], mover);
                if (shows)
                    progress.tick();
            }
        } catch (...) {
            next = items.size();  // nothing more for the others
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
            helpers->submit([&, i] { work(movers[i], false); });
        work(movers[0], true);
        if (helpers)
            helpers->wait();
    }
    stop.throwIfRequested();
    for (const Mover& mover : movers)
        add(mover);
}

void DumpMemory::add(const Mover& mover) {
    statistics_.pagesScanned += mover.statistics.pagesScanned;
    statistics_.pagesWritten += mover.statistics.pagesWritten;
    statistics_.memoryWrite += mover.statistics.memoryWrite;
    statistics_.bufferBytes += mover.drainer.bufferBytes();
}

void DumpMemory::run(std::atomic<std::uint64_t>& done, Progress& progress, StopRequest& stop) {
    readers_.reset();
    memory::Drainer::Options how;
    how.progress = [&done](std::uint64_t bytes) { done.fetch_add(bytes, std::memory_order_relaxed); };
    how.stopWanted = [&stop] { return stop.requested(); };

    const Stopwatch watch(statistics_.memoryDump);
    Mover mover(how);
    std::vector<Item*> small;
    for (Item& item : items_) {
        stop.throwIfRequested();
        if (isSmall(item)) {
            small.push_back(&item);
            continue;
        }
        dumpPages(item, mover);
        progress.tick();
    }
    if (!small.empty())
        runSmall(small, how, progress, stop);
    const memory::SegmentsDumpResult shared = segments_.write(images_, pagesIds_, files_.ids(), mover.drainer);
    statistics_.sharedPagesScanned += shared.pagesScanned;
    statistics_.sharedPagesWritten += shared.pagesWritten;
    statistics_.memoryWrite += shared.moving;
    add(mover);
}

bool DumpMemory::sawUprobes() const noexcept {
    return std::any_of(items_.begin(), items_.end(), [](const Item& item) { return item.memory.uprobes; });
}

}  // namespace criu::engine
