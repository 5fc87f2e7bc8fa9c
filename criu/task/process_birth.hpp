// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <vector>

#include "criu/base/log.hpp"
#include "criu/model/process_tree.hpp"

/// Creates processes with chosen pids: clone3(2) with set_tid (Linux 5.5), which needs CAP_CHECKPOINT_RESTORE (Linux
/// 5.9) or CAP_SYS_ADMIN in the pid namespaces. `flags`: CLONE_…. The functions return twice, as fork(2) does: 0, and
/// the new process' pid in the caller's pid namespace.
namespace criu::engine {

/// `numbers`: pids in the new process' pid namespace and those above it; that of the root's pid namespace comes last.
/// Waits while the holder of a pid is ending: usually moments, but a parent that reaps hundreds of processes needs
/// seconds. Logs a warning after a second. Throws Error that names the holder.
pid_t createWithPid(const std::vector<pid_t>& numbers, std::uint64_t flags, Log& log);

/// Creates a helper with any pid that no process, thread, group or session of the tree has. `depth`: levels of the
/// caller's pid namespace below the root's.
pid_t createHelperProcess(const model::ProcessTree& tree, unsigned depth, std::uint64_t flags);

}  // namespace criu::engine
