// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/types.h>

#include <cstdint>

#include "criu/image/arena.hpp"
#include "criu/kernel/proc/limits.hpp"
#include "criu/pie/program_builder.hpp"
#include "images/core.fwd.hpp"

/// Functions for the resource limits of a process.
namespace criu::task {

void storeLimits(const kernel::ResourceLimits& limits, TaskCoreEntry& core, Arena& arena);

/// Limits of a new process.
struct LimitsAtBirth {
    const kernel::ResourceLimits& now;  ///< limits that the process inherits: the scoped rlimits of the coordinator
    const kernel::ResourceLimits& fallback;  ///< limits of criu before it raised them; used for images without limits
};

/// Adds steps that set all limits that differ from the inherited ones, except the limits in the mask `later` (bit N:
/// limit N). Raising a hard limit needs CAP_SYS_RESOURCE. A limit that doesn't change needs no privilege.
void restoreLimits(const TaskCoreEntry& core, const LimitsAtBirth& birth, std::uint32_t later, pie::StepList& steps,
                   pie::RemoteData& data);

/// Adds a step that sets one limit if it differs from the inherited one.
void restoreLimit(const TaskCoreEntry& core, const LimitsAtBirth& birth, int resource, pie::StepList& steps,
                  pie::RemoteData& data);

/// Sets one limit of another process. Throws Error.
void restoreLimit(const TaskCoreEntry& core, const LimitsAtBirth& birth, int resource, pid_t pid);

}  // namespace criu::task
