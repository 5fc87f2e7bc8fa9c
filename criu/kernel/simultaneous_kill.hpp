// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/types.h>

#include <span>
#include <vector>

#include "criu/base/unique_fd.hpp"

namespace criu::kernel {

/// Prepared SIGKILL for several processes, which one system call sends to all of them. If the caller is killed, either
/// all processes get the signal or none.
///
/// Each process is the signal owner (F_SETOWN_EX) of a descriptor of one pipe, with SIGKILL as the signal of F_SETSIG.
/// When a byte arrives in the pipe, kill_fasync() (fs/fcntl.c) signals all owners, and can't be interrupted. All
/// descriptors read and write the pipe, so that the kernel sends nothing when it closes them one after the other
/// (pipe_release(), fs/pipe.c).
///
/// The kernel checks permissions by uid only (sigio_perm()). A caller that isn't root of the initial user namespace
/// reaches only processes of its own uid. No caller reaches init of a pid namespace.
class SimultaneousKill {
public:
    /// Opens one descriptor for each process. Throws Error, for instance EMFILE. The caller must keep the pids from
    /// being reused.
    explicit SimultaneousKill(std::span<const pid_t> processes);

    /// Sends SIGKILL to all processes. Throws Error if it has sent none.
    void send();

private:
    std::vector<UniqueFd> ends_;
};

}  // namespace criu::kernel
