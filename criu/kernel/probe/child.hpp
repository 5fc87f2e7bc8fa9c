// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/types.h>

#include <functional>

namespace criu::kernel::probe {

/// Runs `body` in a forked child, which a probe may change freely, and returns its result. Returns false if the child
/// threw or was killed. The child dies with the calling thread.
bool inChild(const std::function<bool()>& body);

/// Forked child that is stopped under ptrace (SIGSTOP) before it runs `body`. The destructor kills and reaps it.
class TracedChild {
public:
    explicit TracedChild(const std::function<void()>& body);
    ~TracedChild();
    TracedChild(const TracedChild&) = delete;
    TracedChild& operator=(const TracedChild&) = delete;

    [[nodiscard]] pid_t pid() const noexcept { return pid_; }

    /// Continues the child. Returns the next stop signal, or 0 if the child ends.
    int resumeUntilStop();

private:
    int waitStop();

    pid_t pid_;
    bool reaped_ = false;
};

}  // namespace criu::kernel::probe
