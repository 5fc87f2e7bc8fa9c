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

/// Queries the semaphore undo values (semop(2), SEM_UNDO) of processes. Each process makes the queries itself, because
/// the kernel shows the values to no other process.
class SemUndoQueries {
public:
    /// Both arguments outlive this object.
    SemUndoQueries(StopRequest& stop, Log& log) : stop_(stop), log_(log) {}

    /// Queries a process. `own` has the semaphore sets of its IPC namespace, which collect the values; null if the
    /// namespace is criu's and isn't dumped. Throws Error for values that a restore can't set: of a set in criu's
    /// namespace, or in a thread's private list (FrozenTask::objects).
    void query(FrozenTask& task, std::vector<namespaces::SemaphoreSet>* own, compel::Injection& injection);

    /// Throws Error if two processes share a list of values. Call it after all queries.
    void finish() const;

private:
    void queryOwn(FrozenTask& task, compel::Tracee& thread, namespaces::SemaphoreSet& set,
                  compel::Injection& injection);
    void queryOthers(const FrozenTask& task, compel::Tracee& thread, int set, compel::Injection& injection);

    StopRequest& stop_;
    Log& log_;
    std::vector<HostPid> holders_;             ///< processes that have values in dumped sets
    std::optional<std::vector<int>> outside_;  ///< sets of criu's namespace that were used at least once
};

}  // namespace criu::engine
