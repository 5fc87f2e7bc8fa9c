// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "criu/base/ids.hpp"
#include "criu/image/arena.hpp"
#include "criu/kernel/proc/timers.hpp"
#include "criu/model/tree_pids.hpp"
#include "criu/pie/program_builder.hpp"
#include "images/core.fwd.hpp"
#include "images/timer.fwd.hpp"

/// Interval timers and POSIX timers.
namespace criu::task {

/// Queries a task for the state of its timers. `known`: list of /proc/PID/timers. `threads`: all threads of the task.
/// `pids` outlives this object.
class TimerQuery {
public:
    TimerQuery(std::vector<kernel::PosixTimer> known, const std::vector<HostPid>& threads, const model::TreePids& pids,
               pie::StepList& steps, pie::RemoteData& data);
    /// Stores a timer that signals an ended thread with SIGEV_NONE: the kernel sends no signal for either.
    void store(pie::RemoteData& answers, TaskCoreEntry& core, Arena& arena) const;
    /// Returns timers of one thread's processor time in a process with several, whose thread the kernel doesn't show. A
    /// restore makes them measure the main thread's time.
    [[nodiscard]] std::vector<std::int32_t> ofUnknownThreads() const;

private:
    std::vector<kernel::PosixTimer> known_;
    bool oneThread_;
    const model::TreePids& pids_;
    std::uint64_t intervalAt_;
    std::uint64_t posixAt_;
    std::vector<std::uint64_t> overrunAt_;
    std::vector<std::uint64_t> clockAt_;  ///< result: whether the clock exists
};

/// Adds steps that start the timers; they are the last in a process' program, when all its threads exist. `numberOf`:
/// pid of a thread in the process' pid namespace. `idsSettable`: the kernel has PR_TIMER_CREATE_RESTORE_IDS (Linux
/// 6.16), so ids needn't be counted up.
void restoreTimers(const TaskTimersEntry* timers, TreePid pid, const std::function<pid_t(TreePid)>& numberOf,
                   bool idsSettable, pie::StepList& steps, pie::RemoteData& data);

}  // namespace criu::task
