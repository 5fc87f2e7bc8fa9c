// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/types.h>

namespace criu::kernel {

/// Child that does nothing and exists only to be referred to. It lives as long as this object, and its end sends no
/// SIGCHLD.
class PlaceholderProcess {
public:
    /// `pid`: pid of the child (needs CAP_CHECKPOINT_RESTORE), or 0 for any. Throws Error: EEXIST if the pid is in
    /// use.
    explicit PlaceholderProcess(pid_t pid = 0);
    ~PlaceholderProcess();
    PlaceholderProcess(const PlaceholderProcess&) = delete;
    PlaceholderProcess& operator=(const PlaceholderProcess&) = delete;

    [[nodiscard]] pid_t pid() const noexcept { return pid_; }

private:
    pid_t pid_;
};

}  // namespace criu::kernel
