// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <vector>

#include "criu/base/log.hpp"
#include "criu/model/process_tree.hpp"

/// Functions that create processes with chosen pids, by clone3(2) with set_tid (Linux 5.5). This needs
/// CAP_CHECKPOINT_RESTORE (Linux 5.9) or CAP_SYS_ADMIN in the pid namespaces. `flags` are CLONE_… flags.
/// Like fork(2), the functions return 0 in the new process, and its pid in the caller. The pid is a number of the
/// caller's pid namespace.
namespace criu::engine {

/// Creates a process. `numbers` contains its pids, from the pid namespace of the new process up to the root's pid
/// namespace, which is the last one.
/// If another process has a pid and is ending, waits for it. This usually takes moments, or seconds if a parent reaps
/// hundreds of processes. Logs a warning after a second.
/// Throws Error that names the process with the pid.
pid_t createWithPid(const std::vector<pid_t>& numbers, std::uint64_t flags, Log& log);

/// Creates a helper with any pid that no process, thread, group or session of the tree has. `depth` is the number of
/// levels of the caller's pid namespace below the root's namespace.
pid_t createHelperProcess(const model::ProcessTree& tree, unsigned depth, std::uint64_t flags);

}  // namespace criu::engine
