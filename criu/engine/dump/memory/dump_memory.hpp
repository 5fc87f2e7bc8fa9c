// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "criu/base/ids.hpp"
#include "images/mm.fwd.hpp"

namespace criu {
class ImageDir;
class Log;
class StopRequest;
}  // namespace criu

namespace criu::memory {
struct EarlyDump;
class MappedFileDump;
class PageSinks;
class SegmentsDump;
}  // namespace criu::memory

namespace criu::model {
class IdMap;
struct Options;
}  // namespace criu::model

namespace criu::engine {

struct DumpStatistics;
struct FrozenTask;
class FrozenTree;
class MemoryTracking;
class PolicyQueries;

/// The memory of all processes of a dump: mappings are collected first, contents are moved when all processes have been
/// looked at. Of files it knows only what whoever collects a process' mappings says of those behind them.
class DumpMemory {
public:
    /// All outlive this object.
    struct Inputs {
        const ImageDir& images;
        DumpStatistics& statistics;
        MemoryTracking& tracking;
        memory::PageSinks& pages;
        const model::Options& options;
        Log& log;
        FrozenTree& tree;
        const std::map<HostPid, memory::EarlyDump>& early;  ///< processes whose pages were written before
    };
    explicit DumpMemory(const Inputs& inputs);
    ~DumpMemory();
    DumpMemory(const DumpMemory&) = delete;
    DumpMemory& operator=(const DumpMemory&) = delete;

    /// Where pages go, also those of others.
    [[nodiscard]] memory::PageSinks& pages() noexcept;
    /// See memory::PageSinks::extensions().
    [[nodiscard]] std::vector<std::string> extensions() const;
    /// Shared memory, which descriptors refer to as well.
    [[nodiscard]] memory::SegmentsDump& segments() noexcept;
    /// See memory::SegmentsDump::reserve().
    void reserve(std::uint32_t shmid);

    /// Begins to read the mappings of all processes, by all cores. Nothing in them may change meanwhile: to be called
    /// when all are frozen.
    void lookAhead(FrozenTree& tree);

    /// The mm entry, which has the mappings, in which others fill what they know and which is written by run(), and
    /// questions to the process.
    struct Collected {
        MmEntry& mm;
        std::shared_ptr<PolicyQueries> policies;
    };
    /// Takes up a process' mappings; `files` answers for those behind them and is used during the call only.
    /// `seccompSuspended`: see FrozenTree.
    Collected collect(FrozenTask& task, memory::MappedFileDump& files, bool seccompSuspended);

    /// How far run() is, for who watches; any thread may read them.
    struct Amounts {
        std::atomic<std::uint64_t> done{0};   ///< bytes
        std::atomic<std::uint64_t> total{0};  ///< about so many there will be
    };
    /// Moves contents into the sinks, and writes the mm images. `owners`: how the tree calls users and groups.
    void run(const model::IdMap& owners, Amounts& amounts, StopRequest& stop);

    /// With --background: what run() has only taken snapshots of, when the tree runs again.
    void runInBackground(Amounts& amounts, StopRequest& stop);

    /// Writes the System V shared memory that processes have attached, if they share criu's IPC namespace. After run().
    void writeSysvShm(std::uint32_t namespaceId, const model::IdMap& owners, StopRequest& stop);

    /// Some process had an area of uprobes, which was left out.
    [[nodiscard]] bool sawUprobes() const noexcept;

private:
    class Work;

    std::unique_ptr<Work> work_;
};

}  // namespace criu::engine
