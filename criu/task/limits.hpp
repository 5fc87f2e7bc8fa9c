// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/types.h>

#include "criu/image/arena.hpp"
#include "criu/kernel/proc/limits.hpp"
#include "criu/pie/program_builder.hpp"
#include "images/core.fwd.hpp"

/// Resource limits of a process.
namespace criu::task {

void storeLimits(const kernel::ResourceLimits& limits, TaskCoreEntry& core, Arena& arena);

/// Adds steps that set the limits which differ from `now`, the limits of the creating criu. To raise a hard limit needs
/// CAP_SYS_RESOURCE. `except`: a limit to leave unchanged; -1: none.
void restoreLimits(const TaskCoreEntry& core, const kernel::ResourceLimits& now, int except, pie::StepList& steps,
                   pie::RemoteData& data);

/// Sets one limit of a process from outside. Throws Error.
void restoreLimit(const TaskCoreEntry& core, const kernel::ResourceLimits& now, int resource, pid_t pid);

}  // namespace criu::task
