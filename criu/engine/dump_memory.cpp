// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/dump_memory.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>

#include "criu/base/error.hpp"

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

private:
    FrozenTask& task_;
    FileCollector& files_;
    device::DumpDevices& devices_;
};

}  // namespace

MmEntry& DumpMemory::collect(FrozenTask& task) {
    Item& item = items_.emplace_back();
    item.task = &task;
    item.mm = arena_.make<MmEntry>();
    item.vmas = kernel::readSmaps(task.dir);
    MappedPaths paths(task, files_, segments_, devices_);
    memory::VmaDumpRules rules = segments_.rules();
    rules.allowUprobes = options_.allowUprobes;
    item.memory = memory::dumpVmas(item.vmas, rules, paths, arena_);
    return *item.mm;
}

void DumpMemory::run(std::atomic<std::uint64_t>& done, Progress& progress, StopRequest& stop) {
    memory::Drainer::Options how;
    how.progress = [&done](std::uint64_t bytes) { done.fetch_add(bytes, std::memory_order_relaxed); };
    how.stopWanted = [&stop] { return stop.requested(); };
    memory::Drainer drainer(how);

    const Stopwatch watch(statistics_.memoryDump);
    for (Item& item : items_) {
        stop.throwIfRequested();
        inContext([&] { return fmt::format("process {}", item.task->pid()); },
                  [&] {
                      const memory::PageDumpTask task{item.task->pid(), item.task->pid(), item.task->dir};
                      const memory::PageDumpResult result =
                          memory::dumpPages(task, item.memory, images_, pagesIds_, drainer, arena_);
                      statistics_.pagesScanned += result.pagesScanned;
                      statistics_.pagesWritten += result.pagesWritten;
                      statistics_.memoryWrite += result.moving;
                      item.memory.fill(*item.mm, arena_);
                      ImageWriter image = images_.create(ImageKind::Mm, static_cast<std::uint64_t>(task.imageId));
                      image.write(*item.mm);
                      image.finish();
                  });
        progress.tick();
    }
    const memory::SegmentsDumpResult shared = segments_.write(images_, pagesIds_, drainer);
    statistics_.sharedPagesScanned += shared.pagesScanned;
    statistics_.sharedPagesWritten += shared.pagesWritten;
    statistics_.memoryWrite += shared.moving;
    statistics_.bufferBytes = drainer.bufferBytes();
}

bool DumpMemory::sawUprobes() const noexcept {
    return std::any_of(items_.begin(), items_.end(), [](const Item& item) { return item.memory.uprobes; });
}

}  // namespace criu::engine
