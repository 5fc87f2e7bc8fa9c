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

/// Asks processes for the adjustments (semop(2), SEM_UNDO) that they hold. The processes themselves ask, since the
/// kernel tells nobody else.
class AdjustmentQuestions {
public:
    /// Both arguments outlive this object.
    AdjustmentQuestions(StopRequest& stop, Log& log) : stop_(stop), log_(log) {}

    /// Asks a process. `own`: the sets of its IPC namespace, which take the adjustments up; null if that namespace is
    /// criu's and isn't dumped. Throws Error for adjustments that a restore can't make: of a set in criu's namespace,
    /// or in a list that a thread has for itself (FrozenTask::objects).
    void ask(FrozenTask& task, std::vector<namespaces::SemaphoreSet>* own, compel::Injection& injection);

    /// To be called when all processes were asked. Throws Error if two of them share a list of adjustments.
    void finish() const;

private:
    void askOfOwn(FrozenTask& task, compel::Tracee& thread, namespaces::SemaphoreSet& set,
                  compel::Injection& injection);
    void askOfOthers(const FrozenTask& task, compel::Tracee& thread, int set, compel::Injection& injection);

    StopRequest& stop_;
    Log& log_;
    std::vector<HostPid> holders_;             ///< processes that have adjustments of sets that are dumped
    std::optional<std::vector<int>> outside_;  ///< the sets of criu's namespace that were ever operated on
};

}  // namespace criu::engine
