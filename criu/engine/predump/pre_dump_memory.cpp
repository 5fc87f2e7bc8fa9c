// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/predump/pre_dump_memory.hpp"

#include <fcntl.h>

#include <optional>
#include <span>
#include <vector>

#include "criu/base/error.hpp"
#include "criu/base/log.hpp"
#include "criu/base/machine.hpp"
#include "criu/base/stop_request.hpp"
#include "criu/engine/dump/frozen.hpp"
#include "criu/engine/dump/frozen_tree.hpp"
#include "criu/engine/dump/memory/memory_tracking.hpp"
#include "criu/engine/statistics.hpp"
#include "criu/image/checksum_list.hpp"
#include "criu/image/image_dir.hpp"
#include "criu/kernel/mm/maps.hpp"
#include "criu/kernel/mm/pagemap.hpp"
#include "criu/memory/mappings/ignored_mapped_files.hpp"
#include "criu/memory/pages/parent_pages.hpp"
#include "criu/memory/pages/write_tracking.hpp"
#include "criu/memory/shmem/segments_dump.hpp"
#include "criu/model/options.hpp"
#include "images/inventory.hpp"

namespace criu::engine {
namespace {

/// Returns true if a process has so many private pages in untracked mappings that tracking them is worth the time.
bool hasManyUntrackedPages(const kernel::ProcPid& process, std::span<const kernel::Vma> vmas,
                           std::span<const kernel::Vma> tracked) {
    constexpr std::uint64_t kMuch = std::uint64_t{1} << 20;
    const kernel::PagemapScanner scanner(process, kernel::PagemapScanner::Mode::Scan);
    std::uint64_t bytes = 0;
    auto next = tracked.begin();
    for (const kernel::Vma& vma : vmas) {
        if (next != tracked.end() && next->start == vma.start) {
            ++next;
            continue;
        }
        if (vma.shared || vma.name.starts_with("[v") || vma.end > taskSize())
            continue;
        scanner.scanAtOnce(vma.start, vma.end,
                           kernel::isAnonymous(vma) ? kernel::kAnonymousPages : kernel::kPrivatePages,
                           [&bytes](const kernel::PageRange& found) { bytes += found.end - found.start; });
        if (bytes > kMuch)
            return true;
    }
    return false;
}

}  // namespace

PreDumpMemory::PreDumpMemory(FrozenPhase& frozen) : frozen_(frozen) {
    frozen_.log().stage("memory");
    memory::VmaDumpRules rules = memory::SegmentsDump().rules();
    rules.allowUprobes = true;
    frozen_.tracking().begin();
    const Stopwatch watch(frozen_.statistics().memoryDump);
    for (const auto& task : frozen_.tree().tasks()) {
        frozen_.stop().throwIfRequested();
        if (!task->alive())
            continue;
        const ErrorContext context([&] { return task->describe(); });
        look(*task, rules);
    }
}

void PreDumpMemory::look(FrozenTask& task, const memory::VmaDumpRules& rules) {
    Item& item = items_.emplace_back();
    item.pid = task.pid();
    item.actor = task.actor();
    item.imageId = task.treePid();
    item.memory = task.dir.open("mem", O_RDONLY);
    if (!lookAgain(task, rules, item))
        lookAtAll(task, rules, item);
}

/// Finds the pages of mappings that an earlier dump has tracked, without reading smaps. For smaps, the kernel counts
/// all pages, which would take most of the time of the freeze. Leaves a few pages of new mappings to later dumps.
/// Returns false if only smaps has the needed data, for instance which pages several processes share.
bool PreDumpMemory::lookAgain(FrozenTask& task, const memory::VmaDumpRules& rules, Item& item) {
    if (!frozen_.tracking().parentIsKnown() || frozen_.tree().tasks().size() > 1)
        return false;
    const std::vector<kernel::Vma> vmas = kernel::readMaps(task.dir);
    const auto known = frozen_.tracking().find(task, vmas);
    if (!known || hasManyUntrackedPages(task.dir, vmas, known->tracked))
        return false;
    frozen_.log().debug("Of {} the {} mappings are looked at that were tracked before", task.describe(),
                        known->tracked.size());
    item.writes = known->writes;
    IgnoredMappedFiles files(task.dir);
    Arena arena;
    findPages(task, memory::dumpVmas(known->tracked, rules, files, arena), item);
    item.writes->restart(task.dir, known->tracked);
    return true;
}

void PreDumpMemory::lookAtAll(FrozenTask& task, const memory::VmaDumpRules& rules, Item& item) {
    std::vector<kernel::Vma> vmas = [&] {
        const TracedWork reading(frozen_.log(), "read mappings");
        return kernel::readSmaps(task.dir);
    }();
    item.writes = frozen_.tracking().add(task, vmas, frozen_.tree().seccompSuspended());
    IgnoredMappedFiles files(task.dir);
    Arena arena;
    findPages(task, memory::dumpVmas(vmas, rules, files, arena), item);
    if (item.writes != nullptr) {
        const TracedWork protecting(frozen_.log(), "protect pages");
        item.writes->restart(task.dir, vmas);
    }
}

void PreDumpMemory::findPages(FrozenTask& task, const memory::DumpedMemory& mappings, Item& item) {
    memory::PageDumpTask search{item.actor, item.imageId, task.dir};
    std::optional<memory::ParentPages> parent;
    if (item.writes != nullptr && frozen_.tracking().parentIsKnown())
        parent = frozen_.pages().parentOf(memory::MemoryObject::process(item.imageId));
    if (parent) {
        search.tracking = item.writes;
        search.parent = &*parent;
    }
    const TracedWork finding(frozen_.log(), "find pages");
    item.pages = memory::findPages(search, mappings);
}

void PreDumpMemory::copy(const Item& item, memory::PageSinks& sinks, memory::Drainer& drainer) {
    const ErrorContext context([&] { return fmt::format("process {}", item.pid); });
    DumpStatistics& statistics = frozen_.statistics();
    const auto sink = sinks.open(memory::MemoryObject::process(item.imageId), item.pages.contentBytes());
    memory::DrainSource source;
    source.pid = item.actor;
    source.runningMemory = item.memory.get();
    source.lost = [&item](std::uint64_t address, std::uint64_t bytes) {
        if (item.writes != nullptr)
            item.writes->markWritten(address, bytes);
    };
    drainer.drain(source, *sink, item.pages.jobs);
    sink->finish();
    statistics.pagesScanned += item.pages.scanned;
    statistics.pagesSkippedParent += item.pages.inParent;
    statistics.pagesWritten += sink->contentSize() / kImagePageSize;
}

void PreDumpMemory::write() {
    frozen_.log().stage("copy");
    const Stopwatch watch(frozen_.statistics().memoryWrite);
    memory::Drainer::Options how;
    how.stopWanted = [this] { return frozen_.stop().requested(); };
    memory::Drainer drainer(how);
    memory::PageSinks& sinks = frozen_.pages();
    for (const Item& item : items_) {
        frozen_.stop().throwIfRequested();
        copy(item, sinks, drainer);
    }
    frozen_.statistics().bufferBytes = drainer.bufferBytes();
    sinks.finish();
    try {
        writeInventory();
        frozen_.sendImages();
        frozen_.syncImages();
    } catch (...) {
        frozen_.revokeImages();
        throw;
    }
    // Only warns of a failure: the images are complete, and the next dump writes all pages.
    try {
        frozen_.commitTracking();
    } catch (const std::exception& error) {
        frozen_.log().warn("Memory isn't tracked any more: {}", error.what());
    }
}

void PreDumpMemory::writeInventory() const {
    InventoryEntry entry = INVENTORY_ENTRY__INIT;
    PluginsEntry plugins = PLUGINS_ENTRY__INIT;
    std::string id = frozen_.tracking().nextId();
    entry.img_version = 0;
    entry.has_dump_uptime = 1;
    entry.dump_uptime = frozen_.tracking().uptime();
    entry.has_pre_dump_mode = 1;
    entry.pre_dump_mode = frozen_.options().preDumpMode == model::PreDumpMode::Splice ? 1 : 2;
    entry.plugins_entry = &plugins;
    if (!id.empty())
        entry.tracking_id = id.data();
    completeImages(frozen_.images(), entry, [this] { frozen_.stop().throwIfRequested(); });
}

}  // namespace criu::engine
