// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <signal.h>

#include <compel/injection.hpp>
#include <compel/process.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "criu/engine/dump/frozen_tree.hpp"
#include "criu/task/thread_state.hpp"
#include "images/core.fwd.hpp"
#include "images/fs.fwd.hpp"
#include "images/mm.fwd.hpp"

namespace criu {
class Arena;
}

namespace criu::engine {
struct ThreadQueries;
}

namespace criu::kernel {
class ProcBuffer;
struct TaskStatus;
}  // namespace criu::kernel

namespace criu::model {
class IdMap;
}

namespace criu::pie {
class RemoteData;
}

/// Message of a core image, from queries of a thread, ptrace(2) and /proc.
namespace criu::engine {

/// State of a thread that ptrace(2) shows.
struct TracedThread {
    /// `run` is the run of the thread's queries. Only the tracer may call this.
    TracedThread(const compel::FrozenThread& thread, const compel::BlobRun& run, bool compat);

    HostPid tid;
    compel::Registers registers;
    std::vector<std::byte> segments;  ///< set only for 32-bit processes
    std::vector<std::byte> extended;
    std::uint64_t shadowStackPointer = 0;
    std::optional<task::RseqRegistration> rseq;
    std::vector<siginfo_t> pending;
    std::uint64_t mask = 0;
};

/// State that the entries of all threads of a process use.
struct CoreContext {
    const model::IdMap& ids;                ///< id map of the tree
    std::optional<std::size_t> onlineCpus;  ///< kernel::onlineCpus()
};

/// Makes the entry of any thread. `status` is its /proc/PID/task/TID/status, `cgroupSet` the id of its cgroup set.
CoreEntry& threadEntry(const ThreadQueries& questions, const TracedThread& traced, pie::RemoteData& answers,
                       const kernel::TaskStatus& status, std::uint32_t cgroupSet, const CoreContext& context,
                       Arena& arena);

/// Adds state of the process to the main thread's entry. Adds to `mm` what only the process can query about its memory.
/// Throws Error for what can't be dumped.
void addProcess(const FrozenTask& task, ThreadQueries& questions, pie::RemoteData& answers, std::uint64_t mask,
                const CoreContext& context, kernel::ProcBuffer& buffer, CoreEntry& core, MmEntry& mm, Arena& arena);

/// Adds to a thread's entry what the thread doesn't share with the main thread. `paths` has directories and umasks by
/// ThreadObjects::fs.
void addObjects(const model::ThreadObjects& objects, const std::map<std::uint32_t, FsEntry>& paths,
                ThreadCoreEntry& thread, Arena& arena);

/// Adds the personality of a thread, if it isn't that of the leader.
void addPersonality(const FrozenTask& task, HostPid tid, ThreadCoreEntry& thread);

/// Adds the label of a thread to its entry.
void addLabel(const FrozenTask& task, HostPid tid, CoreEntry& core, Arena& arena);

/// Makes the entry of a zombie.
CoreEntry& deadEntry(const FrozenTask& task, Arena& arena);

}  // namespace criu::engine
