// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
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
class AdjustmentQuestions;
class LandlockCheck;
class PolicyQueries;
struct FrozenTask;
}  // namespace criu::engine

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

/// What the dumps of all processes have in common.
struct TaskDumpContext {
    const ImageDir& images;
    Log& log;
    StopRequest& stop;
    task::SeccompDump& seccomp;
    LandlockCheck& landlock;
    AdjustmentQuestions& adjustments;
    cgroup::CgroupDump& cgroups;
    bool seccompSuspended = false;          ///< FrozenTree::seccompSuspended()
    std::optional<std::size_t> onlineCpus;  ///< kernel::onlineCpus()
    const model::IdMap& ids;
    const model::TreePids& pids;
    /// Of the IPC namespace that the process is in; takes up its adjustments. Null if that is criu's.
    std::vector<namespaces::SemaphoreSet>* semaphores = nullptr;
    cgroup::CgroupNsView cgroupView{};  ///< from where the process sees its groups
    PolicyQueries& policies;            ///< of its memory
    /// Directories and umasks of threads that have their own, by ThreadObjects::fs.
    const std::map<std::uint32_t, FsEntry>& threadPaths;
};

/// Dumps what a process is: asks its threads what only they can tell, reads the rest from /proc, and writes the core
/// images of all threads. Fills the members of `mm` that the process itself knows (brk, dumpable …). Nothing is left in
/// the process afterwards.
void dumpCores(FrozenTask& task, const TaskDumpContext& context, MmEntry& mm);

/// The core image of a zombie.
void dumpDead(const FrozenTask& task, const ImageDir& images);

}  // namespace criu::engine
