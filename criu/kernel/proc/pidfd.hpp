// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <chrono>
#include <optional>

#include "criu/base/unique_fd.hpp"

namespace criu::kernel {

/// Reference to a process by a pidfd (pidfd_open(2), Linux 5.3). It never refers to another process, even if the kernel
/// reuses the pid.
class PidFd {
public:
    /// Opens a pidfd. Throws Error: ESRCH if the process doesn't exist; EINVAL or ENOENT if `pid` isn't a thread group
    /// leader.
    explicit PidFd(pid_t pid);
    /// Opens a pidfd of a process, or of a thread that isn't a leader (PIDFD_THREAD, Linux 6.9). Throws Error: EINVAL
    /// on an older kernel.
    static PidFd ofTask(pid_t tid);
    /// Uses a pidfd that another call has created, for instance clone3(2) with CLONE_PIDFD.
    PidFd(UniqueFd fd, pid_t pid) noexcept : fd_(std::move(fd)), pid_(pid) {}

    [[nodiscard]] int fd() const noexcept { return fd_.get(); }
    /// Returns the pid. Only for messages, because the kernel may have reused the pid.
    [[nodiscard]] pid_t pid() const noexcept { return pid_; }

    /// Duplicates a descriptor of the process, close-on-exec (pidfd_getfd(2), Linux 5.6). Throws Error: EBADF if the
    /// process lacks the descriptor, EPERM without ptrace access, ESRCH if the process has ended.
    [[nodiscard]] UniqueFd getFd(int targetFd) const;

    /// Sends a signal. `info` is that of rt_sigqueueinfo(2). Returns false if the process has ended. Throws Error for
    /// all other failures.
    bool sendSignal(int signal, siginfo_t* info = nullptr) const;

    /// Waits until all threads of the process have ended, at most for `timeout`. Without `timeout`, only checks.
    /// Returns false if a thread still runs. Reaps nothing.
    [[nodiscard]] bool waitExit(std::optional<std::chrono::milliseconds> timeout = std::nullopt) const;

    /// Frees the private memory of a killed process (process_mrelease(2), Linux 5.15). Several threads may call it at
    /// once; together they are faster. Returns 0 or the errno: EINVAL if a live process shares the memory.
    int freeMemory() const noexcept;

    /// Calls waitid(2) for a child. `options` are those of waitid(2), such as WEXITED. With WNOHANG, si_pid of the
    /// result may be 0.
    [[nodiscard]] siginfo_t wait(int options) const;

private:
    UniqueFd fd_;
    pid_t pid_;
};

}  // namespace criu::kernel
