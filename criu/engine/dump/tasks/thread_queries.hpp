// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <compel/process.hpp>

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "criu/engine/dump/frozen_tree.hpp"
#include "criu/pie/program_builder.hpp"
#include "criu/task/attributes.hpp"
#include "criu/task/compat.hpp"
#include "criu/task/credentials.hpp"
#include "criu/task/registered_rings.hpp"
#include "criu/task/seccomp.hpp"
#include "criu/task/signals.hpp"
#include "criu/task/thread_controls.hpp"
#include "criu/task/thread_state.hpp"
#include "criu/task/timers.hpp"

/// Queries of state that only the threads of a process can read, by system calls that criu makes in the threads.
namespace criu::engine {

[[nodiscard]] std::vector<HostPid> threadsOf(const FrozenTask& task);

/// Queries of process state, which the main thread makes.
struct ProcessQueries {
    ProcessQueries(const FrozenTask& task, const model::TreePids& pids, std::vector<kernel::PosixTimer> known,
                   pie::StepList& steps, pie::RemoteData& data)
        : actions(task.compat, steps, data),
          timers(std::move(known), threadsOf(task), pids, steps, data),
          attributes(steps, data),
          localTable(steps, data) {}

    task::SignalActionQuery actions;
    task::TimerQuery timers;
    task::AttributesQuery attributes;
    task::LocalTableQuery localTable;
};

/// Queries that one thread makes, and state of this thread that criu has read in other ways.
struct ThreadQueries {
    ThreadQueries(compel::FrozenThread& who, const FrozenTask& task, pie::StepList& steps, pie::RemoteData& data)
        : thread(who),
          rings(task.hasRings, steps, data),
          signalStack(steps, data),
          state(task.compat, steps, data),
          controls(steps, data),
          secureBits(steps, data),
          keyrings(steps, data) {}

    compel::FrozenThread& thread;
    task::RegisteredRingsQuery rings;
    task::SignalStackQuery signalStack;
    task::ThreadStateQuery state;
    task::ThreadControlsQuery controls;
    task::SecureBitsQuery secureBits;
    task::KeyringsQuery keyrings;
    compel::RemoteAddress landlockAt = 0;  ///< address of the result of the Landlock query; 0 without such a query
    task::SeccompDump::Place seccomp;
    std::optional<compel::UserDispatch> dispatch;
    /// Objects that the thread doesn't share with the main thread; null if it shares all.
    const model::ThreadObjects* objects = nullptr;
    std::optional<ProcessQueries> process;  ///< set only for the main thread
};

/// Returns how many bytes of memory in the process the steps and results of all queries need. `threads`: number of
/// threads that make queries. `timers`: number of POSIX timers of the process.
[[nodiscard]] std::size_t roomForQueries(const FrozenTask& task, std::size_t threads, std::size_t timers);

}  // namespace criu::engine
