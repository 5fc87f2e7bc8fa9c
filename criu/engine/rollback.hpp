// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <functional>
#include <list>
#include <mutex>

namespace criu {
class Log;
}

namespace criu::engine {

/// List of steps that revert changes of a dump outside of the tree. Usually destructors revert these changes. If the
/// thread that would run these destructors is blocked in a call, FilesystemWatchdog runs the steps instead.
class Rollback {
public:
    /// Runs the steps in reverse order. Logs failures. Waits at most a few seconds for each step, so that a step may
    /// still run when the function returns. The caller must end the process afterwards.
    void run(Log& log) noexcept;

private:
    friend class RollbackStep;

    std::mutex mutex_;
    std::list<std::function<void()>> steps_;
};

/// Registers one step until this object is destroyed. Declare it after the object whose destructor reverts the change.
class RollbackStep {
public:
    /// `undo` is called at most once, by any thread.
    RollbackStep(Rollback& rollback, std::function<void()> undo);
    ~RollbackStep();
    RollbackStep(const RollbackStep&) = delete;
    RollbackStep& operator=(const RollbackStep&) = delete;

private:
    Rollback& rollback_;
    std::list<std::function<void()>>::iterator at_;
};

}  // namespace criu::engine
