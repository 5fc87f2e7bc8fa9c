// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <atomic>
#include <deque>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "criu/base/stop_request.hpp"
#include "criu/base/thread_pool.hpp"
#include "criu/device/dump_devices.hpp"
#include "criu/engine/dump_files.hpp"
#include "criu/engine/frozen_tree.hpp"
#include "criu/engine/progress.hpp"
#include "criu/engine/statistics.hpp"
#include "criu/memory/page_dump.hpp"
#include "criu/memory/segments_dump.hpp"
#include "criu/memory/sysv_shm.hpp"
#include "criu/memory/vma_dump.hpp"

namespace criu::engine {

/// The memory of all processes of a dump: mappings are collected first, contents are moved when all processes have been
/// looked at.
class DumpMemory {
public:
    DumpMemory(const model::Options& options, const ImageDir& images, FileCollector& files,
               memory::SegmentsDump& segments, device::DumpDevices& devices, DumpStatistics& statistics)
        : options_(options),
          images_(images),
          files_(files),
          segments_(segments),
          devices_(devices),
          statistics_(statistics) {}

    /// Begins to read the mappings of all processes, by all cores. Nothing in them may change meanwhile: to be called
    /// when all are frozen.
    void lookAhead(FrozenTree& tree);

    /// Takes up a process' mappings. Returns its mm entry, in which others fill what they know; it is written by run().
    MmEntry& collect(FrozenTask& task);

    /// Moves contents into the images, and writes the mm images. `done` counts bytes.
    void run(std::atomic<std::uint64_t>& done, Progress& progress, StopRequest& stop);

    /// Writes the System V shared memory that processes have attached.
    void writeSysvShm(std::uint32_t namespaceId) const { sysvShm_.write(images_, namespaceId, files_.ids()); }

    /// For whoever writes pages files as well.
    [[nodiscard]] memory::PagesIds& pagesIds() noexcept { return pagesIds_; }

    /// Some process had an area of uprobes, which was left out.
    [[nodiscard]] bool sawUprobes() const noexcept;

private:
    struct Item {
        FrozenTask* task = nullptr;
        MmEntry* mm = nullptr;
        std::vector<kernel::Vma> vmas;
        memory::DumpedMemory memory;
    };
    /// How pages are moved: a thread has its own if it dumps whole processes.
    struct Mover {
        explicit Mover(memory::Drainer::Options how) : drainer(std::move(how)) {}
        memory::Drainer drainer;
        Arena arena;
        DumpStatistics statistics;
    };

    static bool isSmall(const Item& item);
    void dumpPages(Item& item, Mover& mover);
    void runSmall(std::span<Item* const> items, const memory::Drainer::Options& how, Progress& progress,
                  StopRequest& stop);
    void add(const Mover& mover);

    const model::Options& options_;
    const ImageDir& images_;
    FileCollector& files_;
    memory::SegmentsDump& segments_;
    device::DumpDevices& devices_;
    DumpStatistics& statistics_;
    Arena arena_;
    memory::PagesIds pagesIds_;
    std::deque<Item> items_;
    memory::SysvShmDump sysvShm_;
    std::map<pid_t, std::future<std::vector<kernel::Vma>>> ahead_;
    std::optional<ThreadPool> readers_;  // last: its threads use the others
};

}  // namespace criu::engine
