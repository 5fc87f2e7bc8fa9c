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
class Refusals;
class StopRequest;
}  // namespace criu

namespace criu::kernel {
class VmaFlagReader;
}

namespace criu::memory {
class PolicyQueries;
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

/// Dumps the memory of all processes. collect() dumps the mappings of each process, and run() then drains the contents
/// of all mappings. Mapped files are dumped by the memory::MappedFileDump that the caller of collect() passes.
class DumpMemory {
public:
    /// Inputs, which must outlive the DumpMemory object.
    struct Inputs {
        const ImageDir& images;
        DumpStatistics& statistics;
        MemoryTracking& tracking;
        memory::PageSinks& pages;
        const model::Options& options;
        Log& log;
        FrozenTree& tree;
        const std::map<HostPid, memory::EarlyDump>& early;  ///< processes whose pages were written early
        Refusals& refusals;
        const kernel::VmaFlagReader* flagReader;  ///< null if the dump must read smaps
    };
    explicit DumpMemory(const Inputs& inputs);
    ~DumpMemory();
    DumpMemory(const DumpMemory&) = delete;
    DumpMemory& operator=(const DumpMemory&) = delete;

    /// Returns the page sinks of the dump. Other parts of the dump also use them.
    [[nodiscard]] memory::PageSinks& pages() noexcept;
    /// Returns memory::PageSinks::extensions().
    [[nodiscard]] std::vector<std::string> extensions() const;
    /// Returns the dump of segments. The dump of descriptors also uses it.
    [[nodiscard]] memory::SegmentsDump& segments() noexcept;
    /// Calls memory::SegmentsDump::reserve().
    void reserve(std::uint32_t shmid);

    /// Starts threads that read the mappings of all processes. Call it when all processes are frozen, because mappings
    /// must not change.
    void lookAhead(FrozenTree& tree);

    /// Mm entry with all mappings, and queries of memory policies. The caller fills the other members of the entry
    /// before run() or dumpAhead() writes it.
    struct Collected {
        MmEntry& mm;
        std::shared_ptr<memory::PolicyQueries> policies;
        std::size_t index = 0;  ///< number of processes that were collected before
    };
    /// Dumps the mappings of a process. `files`: dumps mapped files; used only during the call. `seccompSuspended`:
    /// FrozenTree::seccompSuspended().
    Collected collect(FrozenTask& task, memory::MappedFileDump& files, bool seccompSuspended);

    /// Progress of run() in bytes. Any thread may read it.
    struct Amounts {
        std::atomic<std::uint64_t> done{0};   ///< bytes drained
        std::atomic<std::uint64_t> total{0};  ///< estimate of all bytes to drain
    };
    /// Lets the threads of lookAhead() drain a process, and write its mm image, while the tracer examines further
    /// processes. Call it when the mm entry is complete and criu has no memory in the process any more. Leaves the
    /// process to run() if it has much memory, or if the dump needs the tracer for it. run() throws the failure of a
    /// thread. Don't call it in a dry run. `amounts` and `stop` must outlive this object.
    void dumpAhead(const Collected& process, Amounts& amounts, StopRequest& stop);
    /// Drains the contents of all mappings into the sinks, and writes the mm images. `owners`: id map of the tree.
    void run(const model::IdMap& owners, Amounts& amounts, StopRequest& stop);

    /// Drains the memory snapshots that run() has made for --background. Call it when the tree runs again.
    void runInBackground(Amounts& amounts, StopRequest& stop);

    /// Writes the System V shared memory that processes have attached, if the tree is in criu's IPC namespace (no
    /// private one). Call it after run().
    void writeSysvShm(std::uint32_t namespaceId, const model::IdMap& owners, StopRequest& stop);

    /// Returns true if a process had the kernel's uprobes mapping, which the images don't contain.
    [[nodiscard]] bool sawUprobes() const noexcept;

private:
    class Work;

    std::unique_ptr<Work> work_;
};

}  // namespace criu::engine
