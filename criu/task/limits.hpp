// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/image/arena.hpp"
#include "criu/kernel/limits.hpp"
#include "criu/pie/program_builder.hpp"
#include "images/core.fwd.hpp"

/// Resource limits of a process.
namespace criu::task {

void storeLimits(const kernel::ResourceLimits& limits, TaskCoreEntry& core, Arena& arena);

/// Sets what differs from `now`, the limits of the criu that creates the process. Raising a hard limit needs
/// CAP_SYS_RESOURCE; where the limits already agree nothing is needed.
void restoreLimits(const TaskCoreEntry& core, const kernel::ResourceLimits& now, pie::StepList& steps,
                   pie::RemoteData& data);

}  // namespace criu::task
