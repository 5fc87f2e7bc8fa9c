// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/base/ids.hpp"
#include "criu/options/command.hpp"

namespace compel {
class Error;
}

namespace criu::engine {

/// Throws Error (EPERM) with the capabilities that criu lacks for a command, and the remedy. Call it first, because
/// later failures would have misleading messages.
void requireCommandCaps(options::Command command);

/// Refuses a tree that the kernel doesn't let criu trace, before criu changes anything. Accepts a process that doesn't
/// exist, because the dump has a message for it. Yama's decision is unknown here, because a process may permit tracers
/// (PR_SET_PTRACER).
void requireTraceable(HostPid root);

/// Throws Error unless criu may choose pids in its pid namespace. Root of a user namespace may do so only in a pid
/// namespace that the user namespace owns (clone3(2), set_tid).
void requireChoosablePids();

/// Adds the cause and the remedy to an error of a process that the kernel didn't let criu trace. Does nothing for
/// errors without EPERM.
void explainUntraceable(compel::Error& error, HostPid process);

}  // namespace criu::engine
