// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/types.h>

namespace criu::kernel {

/// A child that does nothing, for those who need a process only to refer to it. It lives as long as this object and
/// leaves no trace with its parent (no SIGCHLD).
class PlaceholderProcess {
public:
    /// `pid`: the pid it shall have (needs CAP_CHECKPOINT_RESTORE); 0: any. Throws Error: EEXIST if it is taken.
    explicit PlaceholderProcess(pid_t pid = 0);
    ~PlaceholderProcess();
    PlaceholderProcess(const PlaceholderProcess&) = delete;
    PlaceholderProcess& operator=(const PlaceholderProcess&) = delete;

    [[nodiscard]] pid_t pid() const noexcept { return pid_; }

private:
    pid_t pid_;
};

}  // namespace criu::kernel
