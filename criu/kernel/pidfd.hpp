// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <chrono>
#include <optional>

#include "criu/base/unique_fd.hpp"

namespace criu::kernel {

/// A process by a descriptor, immune to reuse of its number (pidfd_open(2), 5.3).
class PidFd {
public:
    /// Throws Error: ESRCH: no such process; EINVAL or ENOENT: `pid` is a thread that leads no process.
    explicit PidFd(pid_t pid);
    /// Adopts a pidfd from elsewhere (CLONE_PIDFD).
    PidFd(UniqueFd fd, pid_t pid) noexcept : fd_(std::move(fd)), pid_(pid) {}

    [[nodiscard]] int fd() const noexcept { return fd_.get(); }
    /// For messages; the number may have been reused.
    [[nodiscard]] pid_t pid() const noexcept { return pid_; }

    /// A duplicate of a descriptor of the process, close-on-exec (pidfd_getfd(2), 5.6). EBADF: it has no such
    /// descriptor; EPERM: no ptrace access; ESRCH: it ended.
    [[nodiscard]] UniqueFd getFd(int targetFd) const;

    /// False if the process has ended; other errors throw. `info` as in rt_sigqueueinfo(2).
    bool sendSignal(int signal, siginfo_t* info = nullptr) const;

    /// True once the process has ended (all threads). Reaps nothing. Without a timeout it doesn't wait.
    [[nodiscard]] bool waitExit(std::optional<std::chrono::milliseconds> timeout = std::nullopt) const;

    /// Frees the private memory of a process that has been killed, but still has it; several threads at once are faster
    /// (process_mrelease(2), 5.15). Returns 0 or the error: EINVAL if others that live have the same memory.
    int freeMemory() const noexcept;

    /// waitid(2) of a child: blocks for `options` (WEXITED…) and returns what it gives; with WNOHANG si_pid may be 0.
    [[nodiscard]] siginfo_t wait(int options) const;

private:
    UniqueFd fd_;
    pid_t pid_;
};

}  // namespace criu::kernel
