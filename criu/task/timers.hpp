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

/// Asks a task for the state of its timers. `known`: what /proc/PID/timers lists. `threads`: all threads of the task.
/// `pids` outlives this.
class TimerQuery {
public:
    TimerQuery(std::vector<kernel::PosixTimer> known, const std::vector<HostPid>& threads, const model::TreePids& pids,
               pie::StepList& steps, pie::RemoteData& data);
    /// A timer that signals an ended thread is stored as one of SIGEV_NONE: the kernel sends no signal for either.
    void store(pie::RemoteData& answers, TaskCoreEntry& core, Arena& arena) const;
    /// Ids of timers of the processor time of one thread among several, which the kernel doesn't tell. A restore makes
    /// them count the time of the main thread.
    [[nodiscard]] std::vector<std::int32_t> ofUnknownThreads() const;

private:
    std::vector<kernel::PosixTimer> known_;
    bool oneThread_;
    const model::TreePids& pids_;
    std::uint64_t intervalAt_;
    std::uint64_t posixAt_;
    std::vector<std::uint64_t> overrunAt_;
    std::vector<std::uint64_t> clockAt_;  ///< where the answer is whether its clock exists
};

/// Starts the timers; done last in a process' program, when all its threads exist. `numberOf`: what the process calls
/// its threads in its own pid namespace. `idsSettable`: the kernel has PR_TIMER_CREATE_RESTORE_IDS (6.16), so timers
/// get their ids without counting up to them.
void restoreTimers(const TaskTimersEntry* timers, TreePid pid, const std::function<pid_t(TreePid)>& numberOf,
                   bool idsSettable, pie::StepList& steps, pie::RemoteData& data);

}  // namespace criu::task
