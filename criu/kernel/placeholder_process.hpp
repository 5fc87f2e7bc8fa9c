// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/types.h>

namespace criu::kernel {

/// Child process that does nothing, and exists only so that another object can refer to it. The destructor ends it,
/// without a SIGCHLD.
class PlaceholderProcess {
public:
    /// `pid` is the pid of the new child (needs CAP_CHECKPOINT_RESTORE); with 0, the kernel chooses the pid. Throws
    /// Error with EEXIST if the pid is in use.
    explicit PlaceholderProcess(pid_t pid = 0);
    ~PlaceholderProcess();
    PlaceholderProcess(const PlaceholderProcess&) = delete;
    PlaceholderProcess& operator=(const PlaceholderProcess&) = delete;

    [[nodiscard]] pid_t pid() const noexcept { return pid_; }

private:
    pid_t pid_;
};

}  // namespace criu::kernel
