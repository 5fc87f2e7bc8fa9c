// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/types.h>

#include <functional>

namespace criu::kernel::probe {

/// Runs `body` in a forked child and returns its result. A probe may change the state of this child freely. Returns
/// false if `body` throws or a signal kills the child. The kernel kills the child when the calling thread ends.
bool inChild(const std::function<bool()>& body);

/// Forked child that criu traces. Before it runs `body`, it is stopped by SIGSTOP. The destructor kills and reaps it.
class TracedChild {
public:
    explicit TracedChild(const std::function<void()>& body);
    ~TracedChild();
    TracedChild(const TracedChild&) = delete;
    TracedChild& operator=(const TracedChild&) = delete;

    [[nodiscard]] pid_t pid() const noexcept { return pid_; }

    /// Continues the child. Returns the signal of its next stop, or 0 if the child has ended.
    int resumeUntilStop();

private:
    int waitStop();

    pid_t pid_;
    bool reaped_ = false;
};

}  // namespace criu::kernel::probe
