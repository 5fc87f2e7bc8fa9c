// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <signal.h>

#include <atomic>
#include <mutex>

#include "criu/base/unique_fd.hpp"

namespace criu {

/// The user's wish to stop: SIGINT, SIGTERM, SIGHUP or SIGQUIT. While an object lives these signals are blocked and
/// only noted, so work ends at points where everything can be undone. Signals that were ignored stay ignored. Made
/// in the main thread before any other thread starts; one object at a time.
class StopRequest {
public:
    StopRequest();
    ~StopRequest();
    StopRequest(const StopRequest&) = delete;
    StopRequest& operator=(const StopRequest&) = delete;

    /// Whether a stop was asked for. Any thread may ask; costs a system call until the answer is yes.
    [[nodiscard]] bool requested() noexcept;

    /// Throws Error (EINTR) naming the signal if a stop was asked for; in any thread. From then on fd() is quiet,
    /// whatever other signals come, so that undoing isn't disturbed, while requested() goes on to say yes.
    void throwIfRequested();

    /// Becomes readable with the request: for poll(2) beside other descriptors. Not to be read. -1, which poll(2)
    /// passes over, once throwIfRequested() has thrown.
    [[nodiscard]] int fd() const noexcept { return signal_.load(std::memory_order_relaxed) == 0 ? fd_.get() : -1; }

    /// The mask from before, for children that are to run programs.
    [[nodiscard]] const sigset_t& inheritedMask() const noexcept { return inherited_; }

    /// In a child of the process that watches, which doesn't: requested() says no from then on, and the descriptor,
    /// whose number will be another file's, is left to the caller.
    void forget() noexcept { (void)fd_.release(); }

    /// Ends the watch early: swallows what is pending and puts the old mask back.
    void release() noexcept;

    /// Leaves the signals blocked when this object goes. For programs that are about to exit: their outcome is
    /// certain, and a late signal mustn't make a success look like a failure.
    void stayBlocked() noexcept { staysBlocked_ = true; }

private:
    sigset_t inherited_{};
    bool staysBlocked_ = false;
    UniqueFd fd_;
    std::atomic<int> signal_{0};
    std::mutex reading_;
};

}  // namespace criu
