// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <functional>
#include <list>
#include <mutex>

namespace criu {
class Log;
}

namespace criu::engine {

/// Steps that revert changes of a dump outside of the tree. Destructors usually revert them. FilesystemWatchdog runs
/// the steps if the thread of these destructors is blocked in a call.
class Rollback {
public:
    /// Runs the steps, latest first. Logs failures. Waits at most a few seconds for each step. A step may still be
    /// running, so the caller must end the process afterwards.
    void run(Log& log) noexcept;

private:
    friend class RollbackStep;

    std::mutex mutex_;
    std::list<std::function<void()>> steps_;
};

/// One step, registered while this object lives. Declare it after the object that reverts the change.
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
