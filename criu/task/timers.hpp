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

/// Functions for interval timers and POSIX timers.
namespace criu::task {

/// Query of the state of a task's timers. `known` is the list in /proc/PID/timers, and `threads` contains all threads
/// of the task. `pids` must outlive this object.
class TimerQuery {
public:
    TimerQuery(std::vector<kernel::PosixTimer> known, const std::vector<HostPid>& threads, const model::TreePids& pids,
               pie::StepList& steps, pie::RemoteData& data);
    /// Stores all timers. A timer that signals an ended thread is stored with SIGEV_NONE, because the kernel sends no
    /// signal for it.
    void store(pie::RemoteData& answers, TaskCoreEntry& core, Arena& arena) const;
    /// Returns the timers that measure the processor time of one unknown thread: the process has several threads, and
    /// the kernel doesn't show which one. A restore makes these timers measure the time of the main thread.
    [[nodiscard]] std::vector<std::int32_t> ofUnknownThreads() const;

private:
    std::vector<kernel::PosixTimer> known_;
    bool oneThread_;
    const model::TreePids& pids_;
    std::uint64_t intervalAt_;
    std::uint64_t posixAt_;
    std::vector<std::uint64_t> overrunAt_;
    std::vector<std::uint64_t> clockAt_;  ///< address of a result that shows if the clock of a timer exists
};

/// Adds steps that start the timers. They are the last steps of a process, when all its threads exist. `numberOf`
/// returns the pid of a thread in the process' pid namespace.
/// `idsSettable` is true if the kernel has PR_TIMER_CREATE_RESTORE_IDS (Linux 6.15), so that criu needn't create timers
/// only to count up ids.
void restoreTimers(const TaskTimersEntry* timers, TreePid pid, const std::function<pid_t(TreePid)>& numberOf,
                   bool idsSettable, pie::StepList& steps, pie::RemoteData& data);

}  // namespace criu::task
