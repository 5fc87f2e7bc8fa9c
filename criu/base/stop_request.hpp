// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <signal.h>

#include <atomic>
#include <mutex>

#include "criu/base/unique_fd.hpp"

namespace criu {

/// The user's request to stop: SIGINT, SIGTERM, SIGHUP or SIGQUIT. An object blocks these signals and only notes
/// them, so work ends at points where criu can roll back. Ignored signals stay ignored. The main thread creates the
/// object before all other threads; only one may exist.
class StopRequest {
public:
    StopRequest();
    ~StopRequest();
    StopRequest(const StopRequest&) = delete;
    StopRequest& operator=(const StopRequest&) = delete;

    /// True if a stop was requested. Any thread may call it. Costs a system call until it returns true.
    [[nodiscard]] bool requested() noexcept;

    /// Throws Error (EINTR) with the signal's name if a stop was requested; any thread may call it. Afterwards fd()
    /// is quiet, so that further signals don't disturb the rollback, and requested() stays true.
    void throwIfRequested();

    /// Returns a descriptor for poll(2) that becomes readable with the request. Callers must not read it. Returns
    /// -1, which poll(2) ignores, after throwIfRequested() has thrown.
    [[nodiscard]] int fd() const noexcept { return signal_.load(std::memory_order_relaxed) == 0 ? fd_.get() : -1; }

    /// Returns the original signal mask, for children that execute programs.
    [[nodiscard]] const sigset_t& inheritedMask() const noexcept { return inherited_; }

    /// Ends the watch in a child without closing the descriptor: the caller reuses its number. requested() then
    /// returns false.
    void forget() noexcept { (void)fd_.release(); }

    /// Ends the watch early: discards pending signals and restores the original mask.
    void release() noexcept;

    /// Keeps the signals blocked after the destructor. For programs that are about to exit: a late signal must not
    /// turn a success into a failure.
    void stayBlocked() noexcept { staysBlocked_ = true; }

private:
    sigset_t inherited_{};
    bool staysBlocked_ = false;
    UniqueFd fd_;
    std::atomic<int> signal_{0};
    std::mutex reading_;
};

}  // namespace criu
