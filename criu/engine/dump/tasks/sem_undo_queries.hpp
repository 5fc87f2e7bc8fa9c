// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <optional>
#include <vector>

#include "criu/base/ids.hpp"

namespace compel {
class Injection;
class Tracee;
}  // namespace compel

namespace criu {
class Log;
class StopRequest;
}  // namespace criu

namespace criu::namespaces {
struct SemaphoreSet;
}

namespace criu::engine {

struct FrozenTask;

/// Queries the semaphore undo values (semop(2), SEM_UNDO) of processes. Each process makes the queries by injected
/// code, because the kernel doesn't show the values to other processes.
class SemUndoQueries {
public:
    /// Both arguments must outlive this object.
    SemUndoQueries(StopRequest& stop, Log& log) : stop_(stop), log_(log) {}

    /// Queries the undo values of a process and adds them to `own`. Throws Error for values that a restore can't set:
    /// for sets in criu's IPC namespace, and of a thread with a private list. `own`: semaphore sets of the process' IPC
    /// namespace; null if the process is in criu's IPC namespace.
    void query(FrozenTask& task, std::vector<namespaces::SemaphoreSet>* own, compel::Injection& injection);

    /// Throws Error if two processes share a list of undo values (CLONE_SYSVSEM). Call it after the queries of all
    /// processes.
    void finish() const;

private:
    void queryOwn(FrozenTask& task, compel::Tracee& thread, namespaces::SemaphoreSet& set,
                  compel::Injection& injection);
    void queryOthers(const FrozenTask& task, compel::Tracee& thread, int set, compel::Injection& injection);

    StopRequest& stop_;
    Log& log_;
    std::vector<HostPid> holders_;  ///< processes that have undo values in dumped sets
    /// Ids of the sets in criu's IPC namespace on which processes have called semop(2); nothing before the first use.
    std::optional<std::vector<int>> outside_;
};

}  // namespace criu::engine
