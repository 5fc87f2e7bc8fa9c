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

/// The message of a core image, put together from what a thread has told, what tracing shows and what /proc says.
namespace criu::engine {

/// What tracing shows of a thread.
struct TracedThread {
    /// `run`: the thread after its questions. To be called by the thread that traces it.
    TracedThread(const compel::FrozenThread& thread, const compel::BlobRun& run, bool compat);

    HostPid tid;
    compel::Registers registers;
    std::vector<std::byte> segments;  ///< of 32-bit processes only
    std::vector<std::byte> extended;
    std::uint64_t shadowStackPointer = 0;
    std::optional<task::RseqRegistration> rseq;
    std::vector<siginfo_t> pending;
    std::uint64_t mask = 0;
};

/// What all threads of a process have in common for their images.
struct CoreContext {
    const model::IdMap& ids;                ///< how the tree calls users and groups
    std::optional<std::size_t> onlineCpus;  ///< kernel::onlineCpus()
};

/// The entry of any thread; `status` is its /proc/PID/task/TID/status, `cgroupSet` the number of its set of groups.
CoreEntry& threadEntry(const ThreadQueries& questions, const TracedThread& traced, pie::RemoteData& answers,
                       const kernel::TaskStatus& status, std::uint32_t cgroupSet, const CoreContext& context,
                       Arena& arena);

/// Adds to the leader's entry what is the process' own, and to `mm` what the process itself knows of its memory.
/// Throws Error for what can't be dumped.
void addProcess(const FrozenTask& task, ThreadQueries& questions, pie::RemoteData& answers, std::uint64_t mask,
                const CoreContext& context, kernel::ProcBuffer& buffer, CoreEntry& core, MmEntry& mm, Arena& arena);

/// Adds to a thread's entry what it doesn't share with the leader. `paths`: directories and umasks by
/// ThreadObjects::fs.
void addObjects(const model::ThreadObjects& objects, const std::map<std::uint32_t, FsEntry>& paths,
                ThreadCoreEntry& thread, Arena& arena);

/// Adds the personality of a thread, if it isn't that of the leader.
void addPersonality(const FrozenTask& task, HostPid tid, ThreadCoreEntry& thread);

/// Adds the label of a thread to its entry.
void addLabel(const FrozenTask& task, HostPid tid, CoreEntry& core, Arena& arena);

/// The entry of a zombie.
CoreEntry& deadEntry(const FrozenTask& task, Arena& arena);

}  // namespace criu::engine
