// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <signal.h>

#include <atomic>
#include <mutex>

#include "criu/base/unique_fd.hpp"

namespace criu {

/// Stop request of the user: SIGINT, SIGTERM, SIGHUP or SIGQUIT. The object blocks these signals and stores that one
/// arrived, so that criu stops only at points where it can roll back. Signals that were ignored stay ignored. The main
/// thread must create the object before all other threads; only one object may exist.
class StopRequest {
public:
    StopRequest();
    ~StopRequest();
    StopRequest(const StopRequest&) = delete;
    StopRequest& operator=(const StopRequest&) = delete;

    /// Returns true if a stop was requested. Any thread may call it. Each call that returns false costs a system call.
    [[nodiscard]] bool requested() noexcept;

    /// Returns the signal that requested a stop; 0 without a request. Any thread may call it. Afterwards requested()
    /// stays true, and fd() returns -1, so that later signals don't disturb the rollback.
    [[nodiscard]] int take() noexcept;

    /// Throws Error (EINTR) with the signal's name if a stop was requested, and otherwise does the same as take().
    void throwIfRequested();

    /// Returns a descriptor for poll(2) that becomes readable when a stop is requested. Callers must not read from it.
    /// After throwIfRequested() has thrown, returns -1, which poll(2) ignores.
    [[nodiscard]] int fd() const noexcept { return signal_.load(std::memory_order_relaxed) == 0 ? fd_.get() : -1; }

    /// Returns the signal mask before this object existed, for children that execute programs.
    [[nodiscard]] const sigset_t& inheritedMask() const noexcept { return inherited_; }

    /// Removes the descriptor from the object in a child without closing it, because the caller uses its number for
    /// another file. Afterwards requested() returns false.
    void forget() noexcept { (void)fd_.release(); }

    /// Discards pending signals, closes the descriptor, and restores the original signal mask.
    void release() noexcept;

    /// Keeps the signals blocked after the destructor. A program calls it just before it exits, so that a late signal
    /// doesn't turn its success into a failure.
    void stayBlocked() noexcept { staysBlocked_ = true; }

private:
    sigset_t inherited_{};
    bool staysBlocked_ = false;
    UniqueFd fd_;
    std::atomic<int> signal_{0};
    std::mutex reading_;
};

}  // namespace criu
