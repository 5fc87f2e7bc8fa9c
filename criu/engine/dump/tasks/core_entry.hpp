// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <signal.h>

#include <compel/blob_run.hpp>
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

/// Makes the entries of core images. Their data come from queries of a thread, from ptrace(2) and from /proc.
namespace criu::engine {

/// State of a thread that criu reads by ptrace(2).
struct TracedThread {
    /// Reads the state. Only the tracer may call this. `run`: blob run that executed the thread's queries; it stores
    /// the thread's dumped registers.
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

/// Inputs for the entries of all threads of a process.
struct CoreContext {
    const model::IdMap& ids;                ///< id map of the tree
    std::optional<std::size_t> onlineCpus;  ///< number of online processors (kernel::onlineCpus())
    std::uint64_t usualSlice = 0;           ///< result of task::usualSlice()
};

/// Makes the core entry of a thread. `status`: content of the thread's /proc/PID/task/TID/status. `cgroupSet`: id of
/// the thread's cgroup set.
CoreEntry& threadEntry(const ThreadQueries& questions, const TracedThread& traced, pie::RemoteData& answers,
                       const kernel::TaskStatus& status, std::uint32_t cgroupSet, const CoreContext& context,
                       Arena& arena);

/// Makes the entry of a main thread that has ended: it has credentials and a name, but no registers. `questions`:
/// queries of another thread, whose secure bits the entry gets, because the kernel doesn't show them.
CoreEntry& endedLeaderEntry(FrozenTask& task, const ThreadQueries& questions, pie::RemoteData& answers,
                            std::uint32_t cgroupSet, const CoreContext& context, Arena& arena);

/// Adds the state of the process to the main thread's entry. Adds to `mm` the state of memory that only the process can
/// query. Throws Error for state that criu can't dump.
void addProcess(FrozenTask& task, ThreadQueries& questions, pie::RemoteData& answers, std::uint64_t mask,
                const CoreContext& context, kernel::ProcBuffer& buffer, CoreEntry& core, MmEntry& mm, Arena& arena);

/// Adds to a thread's entry the objects that the thread doesn't share with the main thread. `paths`: directories and
/// umasks; the key is ThreadObjects::fs.
void addObjects(const model::ThreadObjects& objects, const std::map<std::uint32_t, FsEntry>& paths,
                ThreadCoreEntry& thread, Arena& arena);

/// Adds the personality of a thread if it differs from that of the main thread. `leaders`: of the first living thread,
/// if the main thread has ended.
void addPersonality(std::uint32_t own, std::uint32_t leaders, ThreadCoreEntry& thread);

/// Adds the label of a thread to its entry.
void addLabel(const FrozenTask& task, HostPid tid, CoreEntry& core, Arena& arena);

/// Makes the core entry of a zombie.
CoreEntry& deadEntry(const FrozenTask& task, Arena& arena);

}  // namespace criu::engine
