// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <functional>
#include <list>
#include <mutex>

namespace criu {
class Log;
}

namespace criu::engine {

/// What a dump has changed outside of the processes of the tree. Usually destructors put that back. Where the thread
/// that would call them doesn't return from a call (FilesystemWatchdog), another one does it by these steps.
class Rollback {
public:
    /// Takes the latest steps first. A step that takes longer than a few seconds isn't waited for; so the caller ends
    /// the process afterwards. Failures are logged.
    void run(Log& log) noexcept;

private:
    friend class RollbackStep;

    std::mutex mutex_;
    std::list<std::function<void()>> steps_;
};

/// One of the steps, for as long as this object lives: it is declared behind what it puts back.
class RollbackStep {
public:
    /// `undo` may be called by any thread, once.
    RollbackStep(Rollback& rollback, std::function<void()> undo);
    ~RollbackStep();
    RollbackStep(const RollbackStep&) = delete;
    RollbackStep& operator=(const RollbackStep&) = delete;

private:
    Rollback& rollback_;
    std::list<std::function<void()>>::iterator at_;
};

}  // namespace criu::engine
