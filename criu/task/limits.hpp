// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/resource.h>

#include <array>

#include "core.pb-c.h"
#include "criu/image/arena.hpp"
#include "criu/pie/program_builder.hpp"

/// Resource limits of a process.
namespace criu::task {

/// In RLIMIT_* order. Taken from /proc/PID/limits, which needs no capability (prlimit(2) of another user's task needs
/// CAP_SYS_RESOURCE).
using Limits = std::array<rlimit, RLIM_NLIMITS>;

void storeLimits(const Limits& limits, TaskCoreEntry& core, Arena& arena);

/// Sets what differs from `now`, the limits of the criu that creates the process. Raising a hard limit needs
/// CAP_SYS_RESOURCE; where the limits already agree nothing is needed.
void restoreLimits(const TaskCoreEntry& core, const Limits& now, pie::StepList& steps, pie::RemoteData& data);

}  // namespace criu::task
