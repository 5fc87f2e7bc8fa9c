// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <span>
#include <vector>

#include "criu/kernel/proc/pidfd.hpp"

namespace criu::engine {

struct FrozenTask;

/// Frees the memory of killed processes with several threads of criu. Otherwise the last thread of each process would
/// free the memory alone; that took a third of a dump of 16 GiB. Does nothing for processes with little memory, and
/// with fewer than 4 cores.
///
/// After a failure, the processes free their memory when they end.
class ParallelExitMmap {
public:
    /// Chooses processes with much memory, and makes each of them stop after SIGKILL before it frees its memory.
    ParallelExitMmap(std::span<FrozenTask* const> tasks, unsigned cores) noexcept;

    /// Returns the chosen processes. The caller must send SIGKILL to them.
    [[nodiscard]] const std::vector<FrozenTask*>& tasks() const noexcept { return tasks_; }
    /// Frees the memory of the chosen processes. They end only after a second kill.
    void freeMemory() noexcept;

private:
    unsigned cores_;
    std::vector<FrozenTask*> tasks_;
    std::vector<kernel::PidFd> processes_;  ///< pidfds of `tasks_`
};

}  // namespace criu::engine
