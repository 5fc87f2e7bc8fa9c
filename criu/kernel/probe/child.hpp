// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/types.h>

#include <functional>

namespace criu::kernel::probe {

/// Runs `body` in a forked child, which may do to itself what a probe has to, and returns what it returned. False as
/// well if the child threw or was killed. The child dies with the calling thread.
bool inChild(const std::function<bool()>& body);

/// A forked child that runs `body` and is stopped under ptrace before it (SIGSTOP). Killed and reaped on destruction.
class TracedChild {
public:
    explicit TracedChild(const std::function<void()>& body);
    ~TracedChild();
    TracedChild(const TracedChild&) = delete;
    TracedChild& operator=(const TracedChild&) = delete;

    [[nodiscard]] pid_t pid() const noexcept { return pid_; }

    /// Continues the child; the signal it stops with next, 0 if it ends instead.
    int resumeUntilStop();

private:
    int waitStop();

    pid_t pid_;
    bool reaped_ = false;
};

}  // namespace criu::kernel::probe
