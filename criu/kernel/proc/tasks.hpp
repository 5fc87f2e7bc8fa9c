// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/types.h>

#include <optional>
#include <string_view>
#include <vector>

#include "criu/kernel/proc/procdir.hpp"

namespace criu::kernel {

/// Returns the thread ids of a process, ascending; the leader isn't always first. New threads may appear until all
/// are stopped.
[[nodiscard]] std::vector<pid_t> readThreads(const ProcPid& process);

/// Returns the open descriptors of a task, ascending.
[[nodiscard]] std::vector<int> readDescriptors(const ProcPid& task);

/// Parses /proc/PID/task/TID/children: pids, each followed by a blank.
[[nodiscard]] std::vector<pid_t> parseChildren(std::string_view text);

/// Returns the children that one thread forked. Complete only while they and the thread are stopped. Throws Error
/// with ENOENT if the thread has ended or the kernel lacks CONFIG_PROC_CHILDREN.
[[nodiscard]] std::vector<pid_t> readChildren(const ProcPid& process, pid_t tid, ProcBuffer& buffer);

/// Finds the new child of a thread that cloned it with CLONE_PTRACE. The child has the thread's tracer, and the pid
/// that clone(2) returned, in the thread's pid namespace. Returns nullopt if it doesn't exist. Limits and errors are
/// those of readChildren().
[[nodiscard]] std::optional<pid_t> findTracedChild(const ProcDir& proc, const ProcPid& process, pid_t tid,
                                                   pid_t returned, ProcBuffer& buffer);

}  // namespace criu::kernel
