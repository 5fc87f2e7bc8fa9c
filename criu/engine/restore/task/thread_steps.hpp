// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/types.h>

#include "criu/base/ids.hpp"
#include "criu/engine/fwd.hpp"

namespace criu::model {
struct Thread;
}

namespace criu::engine {

/// Steps for attributes that only the thread itself can set.
class ThreadSteps {
public:
    /// `run` and `task` must outlive this object.
    ThreadSteps(const RestoreRun& run, const model::Task& task);

    /// Adds the steps of one thread, except those of PrivilegeDrop.
    void compose(const model::Thread& thread, pie::StepList& steps, pie::RemoteData& data) const;
    /// Adds steps that start the timers of the process. Timers may signal any thread, so all threads must exist.
    void composeTimers(pie::StepList& steps, pie::RemoteData& data) const;
    /// Returns a pid or tid in the pid namespace of the process.
    [[nodiscard]] pid_t numberOf(TreePid who) const;

private:
    const RestoreRun& run_;
    const model::Task& task_;
    bool personalities_;  ///< true if a thread has another personality than the leader
};

}  // namespace criu::engine
