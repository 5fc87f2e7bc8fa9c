// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <compel/injection.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "images/fs.fwd.hpp"
#include "images/mm.fwd.hpp"

namespace criu {
class ImageDir;
class Log;
class StopRequest;
}  // namespace criu

namespace criu::cgroup {
class CgroupDump;
enum class CgroupNsView : std::uint32_t;
}  // namespace criu::cgroup

namespace criu::engine {
class SemUndoQueries;
class LandlockCheck;
struct FrozenTask;
}  // namespace criu::engine

namespace criu::memory {
class PolicyQueries;
}

namespace criu::model {
class IdMap;
class TreePids;
}  // namespace criu::model

namespace criu::namespaces {
struct SemaphoreSet;
}

namespace criu::task {
class SeccompDump;
}

namespace criu::engine {

/// Inputs for the dump of one process' threads.
struct TaskDumpContext {
    const ImageDir& images;
    Log& log;
    StopRequest& stop;
    task::SeccompDump& seccomp;
    LandlockCheck& landlock;
    SemUndoQueries& semUndo;
    cgroup::CgroupDump& cgroups;
    bool seccompSuspended = false;          ///< FrozenTree::seccompSuspended()
    std::optional<std::size_t> onlineCpus;  ///< number of online processors (kernel::onlineCpus())
    std::uint64_t usualSlice = 0;           ///< result of task::usualSlice()
    std::size_t allowedMappings = 0;        ///< vm.max_map_count (kernel::allowedMappings())
    const model::IdMap& ids;
    const model::TreePids& pids;
    /// Semaphore sets of the process' IPC namespace, to which the dump adds the semaphore undo values. Null if the
    /// process is in criu's IPC namespace.
    std::vector<namespaces::SemaphoreSet>* semaphores = nullptr;
    cgroup::CgroupNsView cgroupView{};  ///< cgroup namespace view of the process
    memory::PolicyQueries& policies;    ///< queries of the process' memory policies
    /// Directories and umasks of threads that don't share them with the main thread. The key is ThreadObjects::fs.
    const std::map<std::uint32_t, FsEntry>& threadPaths;
};

/// Dump of a process' threads: makes them query their state, reads other state from /proc, and writes the core images.
/// The caller calls request(), place(), start(), run() and finish() in this order, and may do so for several processes
/// at the same time.
class CoreDump {
public:
    /// Prepares the threads. The caller keeps `task`, `context` and `mm` until the destructor. run() sets those members
    /// of `mm` that only the process itself can query, such as the dumpable flag.
    CoreDump(FrozenTask& task, const TaskDumpContext& context, MmEntry& mm);
    ~CoreDump();

    /// Returns the request for the blob that makes the queries, for compel::mapBlobs().
    [[nodiscard]] compel::InjectionRequest request() const;
    /// Takes ownership of memory from compel::mapBlobs().
    void place(const compel::InjectedMemory& memory) noexcept;
    /// Starts the queries of the first threads. Maps the blob if place() hasn't got one.
    void start();
    /// Waits for the started queries, makes the queries of all other threads, and writes the images.
    void run();
    /// Returns the blob in the process, for compel::Injection::cureAll().
    [[nodiscard]] compel::Injection& injection() noexcept;
    /// Removes the blob if it is still in the process.
    void finish();

private:
    class Impl;
    std::unique_ptr<Impl> impl_;
};

/// Writes the core image of a zombie.
void dumpDead(const FrozenTask& task, const ImageDir& images);

}  // namespace criu::engine
