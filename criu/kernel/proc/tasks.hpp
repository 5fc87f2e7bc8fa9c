// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/types.h>

#include <string_view>
#include <vector>

#include "criu/kernel/proc/procdir.hpp"

namespace criu::kernel {

/// Returns the thread ids of a process in ascending order. The leader isn't always the first. The list is complete only
/// for a stopped process, because a running thread may create new threads.
[[nodiscard]] std::vector<pid_t> readThreads(const ProcPid& process);

/// Returns the numbers of the open descriptors of a task, in ascending order.
[[nodiscard]] std::vector<int> readDescriptors(const ProcPid& task);

/// Parses /proc/PID/task/TID/children. The file contains pids, each followed by a blank.
[[nodiscard]] std::vector<pid_t> parseChildren(std::string_view text);

/// Returns the children that the thread `tid` created. The list is complete only while the thread and its children are
/// stopped. Throws Error with ENOENT if the thread has ended or the kernel lacks CONFIG_PROC_CHILDREN.
[[nodiscard]] std::vector<pid_t> readChildren(const ProcPid& process, pid_t tid, ProcBuffer& buffer);

}  // namespace criu::kernel
