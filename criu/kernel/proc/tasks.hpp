// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/types.h>

#include <optional>
#include <string_view>
#include <vector>

#include "criu/kernel/proc/procdir.hpp"

namespace criu::kernel {

/// Thread ids of a process, ascending: not always with the leader first. New threads may appear until all are stopped.
[[nodiscard]] std::vector<pid_t> readThreads(const ProcPid& process);

/// Open descriptors of a task, ascending.
[[nodiscard]] std::vector<int> readDescriptors(const ProcPid& task);

/// Text of /proc/PID/task/TID/children: pids, each followed by a blank.
[[nodiscard]] std::vector<pid_t> parseChildren(std::string_view text);

/// Children forked by one thread. Complete only while they and the thread are stopped. Throws Error with ENOENT if the
/// kernel has no CONFIG_PROC_CHILDREN (then see scanChildren) or the thread is gone.
[[nodiscard]] std::vector<pid_t> readChildren(const ProcPid& process, pid_t tid, ProcBuffer& buffer);

/// The child that a thread has just made, traced like itself (CLONE_PTRACE): of its children the one with the number
/// that clone(2) returned, which is of the thread's own pid namespace, and with its tracer. Nothing if there is no such
/// child. As readChildren() otherwise.
[[nodiscard]] std::optional<pid_t> findTracedChild(const ProcDir& proc, const ProcPid& process, pid_t tid,
                                                   pid_t returned, ProcBuffer& buffer);

/// Children of a process found through the parent of every process in /proc; reads one file per process.
[[nodiscard]] std::vector<pid_t> scanChildren(const ProcDir& proc, pid_t parent, ProcBuffer& buffer);

}  // namespace criu::kernel
