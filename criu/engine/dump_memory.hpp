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
#include "criu/engine/frozen_tree.hpp"
#include "criu/engine/progress.hpp"
#include "criu/engine/statistics.hpp"
#include "criu/image/image_dir.hpp"
#include "criu/memory/page_dump.hpp"
#include "criu/memory/page_sink.hpp"
#include "criu/memory/segments_dump.hpp"
#include "criu/memory/sysv_shm.hpp"
#include "criu/memory/vma_dump.hpp"

namespace criu::engine {

/// The memory of all processes of a dump: mappings are collected first, contents are moved when all processes have been
/// looked at. Of files it knows only what whoever collects a process' mappings says of those behind them.
class DumpMemory {
public:
    /// All outlive this object.
    struct Parts {
        const ImageDir& images;  ///< for what isn't pages
        memory::PageSinks& pages;
        memory::SegmentsDump& segments;
        DumpStatistics& statistics;
        bool allowUprobes = false;  ///< leave out areas of uprobes instead of refusing them
    };
    explicit DumpMemory(const Parts& parts) : parts_(parts) {}

    /// Begins to read the mappings of all processes, by all cores. Nothing in them may change meanwhile: to be called
    /// when all are frozen.
    void lookAhead(FrozenTree& tree);

    /// Takes up a process' mappings; `files` answers for those behind them and is used during the call only. Returns
    /// the mm entry, in which others fill what they know; it is written by run().
    MmEntry& collect(FrozenTask& task, memory::MappedFileDump& files);

    /// Moves contents into the sinks, and writes the mm images. `owners`: how the tree calls users and groups; `done`
    /// counts bytes.
    void run(const model::IdMap& owners, std::atomic<std::uint64_t>& done, Progress& progress, StopRequest& stop);

    /// Writes the System V shared memory that processes have attached, if they share criu's IPC namespace. After run().
    void writeSysvShm(std::uint32_t namespaceId, const model::IdMap& owners, StopRequest& stop);

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

    const Parts parts_;
    Arena arena_;
    std::deque<Item> items_;
    memory::SysvShmDump sysvShm_;
    std::map<HostPid, std::future<std::vector<kernel::Vma>>> ahead_;
    std::optional<ThreadPool> readers_;  // last: its threads use the others
};

}  // namespace criu::engine
