// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/types.h>

#include <cstdint>

#include "criu/image/arena.hpp"
#include "criu/kernel/proc/limits.hpp"
#include "criu/pie/program_builder.hpp"
#include "images/core.fwd.hpp"

/// Resource limits of a process.
namespace criu::task {

void storeLimits(const kernel::ResourceLimits& limits, TaskCoreEntry& core, Arena& arena);

/// Limits of new processes.
struct LimitsAtBirth {
    const kernel::ResourceLimits& now;       ///< raised limits of the criu that creates the process
    const kernel::ResourceLimits& fallback;  ///< limits of criu before, for images without limits
};

/// Adds steps that set all limits that differ from those at birth, except those in `later` (bit RLIMIT_…). Raising a
/// hard limit needs CAP_SYS_RESOURCE; where the limits already agree nothing is needed.
void restoreLimits(const TaskCoreEntry& core, const LimitsAtBirth& birth, std::uint32_t later, pie::StepList& steps,
                   pie::RemoteData& data);

/// Adds a step that sets one limit, if it differs.
void restoreLimit(const TaskCoreEntry& core, const LimitsAtBirth& birth, int resource, pie::StepList& steps,
                  pie::RemoteData& data);

/// Sets one limit of a process from outside. Throws Error.
void restoreLimit(const TaskCoreEntry& core, const LimitsAtBirth& birth, int resource, pid_t pid);

}  // namespace criu::task
