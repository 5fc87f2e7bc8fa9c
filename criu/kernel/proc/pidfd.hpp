// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <chrono>
#include <optional>

#include "criu/base/unique_fd.hpp"

namespace criu::kernel {

/// Process by a descriptor, immune to reuse of its pid (pidfd_open(2), Linux 5.3).
class PidFd {
public:
    /// Throws Error: ESRCH if the process doesn't exist; EINVAL or ENOENT if `pid` isn't a thread group leader.
    explicit PidFd(pid_t pid);
    /// Takes a pidfd of another origin, for instance CLONE_PIDFD.
    PidFd(UniqueFd fd, pid_t pid) noexcept : fd_(std::move(fd)), pid_(pid) {}

    [[nodiscard]] int fd() const noexcept { return fd_.get(); }
    /// Returns the pid for messages; the kernel may have reused it.
    [[nodiscard]] pid_t pid() const noexcept { return pid_; }

    /// Duplicates a descriptor of the process, close-on-exec (pidfd_getfd(2), Linux 5.6). Throws Error: EBADF if it
    /// has no such descriptor, EPERM without ptrace access, ESRCH if it ended.
    [[nodiscard]] UniqueFd getFd(int targetFd) const;

    /// Sends a signal. Returns false if the process has ended; throws Error otherwise. `info` as in
    /// rt_sigqueueinfo(2).
    bool sendSignal(int signal, siginfo_t* info = nullptr) const;

    /// Returns true once all threads of the process have ended. Reaps nothing. Doesn't wait without a timeout.
    [[nodiscard]] bool waitExit(std::optional<std::chrono::milliseconds> timeout = std::nullopt) const;

    /// Frees the private memory of a killed process that still has it; several threads at once are faster
    /// (process_mrelease(2), Linux 5.15). Returns 0 or the errno: EINVAL if a live process shares the memory.
    int freeMemory() const noexcept;

    /// Calls waitid(2) for a child with `options` (WEXITED…) and returns its result. With WNOHANG, si_pid may be 0.
    [[nodiscard]] siginfo_t wait(int options) const;

private:
    UniqueFd fd_;
    pid_t pid_;
};

}  // namespace criu::kernel
