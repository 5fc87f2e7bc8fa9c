// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <vector>

#include "criu/model/process_tree.hpp"

/// Processes with numbers of our choice: clone3(2) with set_tid, since Linux 5.5, with CAP_CHECKPOINT_RESTORE
/// (Linux 5.9) or CAP_SYS_ADMIN in the pid namespaces. `flags`: CLONE_…; the calls return twice, as fork(2) does: 0,
/// and the number that the caller's pid namespace has for the new process.
namespace criu::engine {

/// `numbers`: in the new process' pid namespace and in those above, up to that of the tree's root, whose comes last.
/// Waits for whoever is about to leave a number; throws Error that names who has it. Usually that is a matter of
/// moments, but who reaps hundreds of processes needs seconds.
pid_t createWithPid(const std::vector<pid_t>& numbers, std::uint64_t flags);

/// A helper whose number doesn't matter, except that nobody of the tree may need it: neither as a pid nor as the number
/// of a thread, group or session. `depth`: how deep the caller's pid namespace is below that of the tree's root.
pid_t createHelperProcess(const model::ProcessTree& tree, unsigned depth, std::uint64_t flags);

}  // namespace criu::engine
