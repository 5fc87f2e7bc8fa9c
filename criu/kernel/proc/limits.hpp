// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/resource.h>

#include <array>
#include <cstddef>
#include <string_view>

#include "criu/kernel/proc/procdir.hpp"

namespace criu::kernel {

inline constexpr std::size_t kRlimits = 16;

/// Limits indexed by RLIMIT_…; RLIM_INFINITY for "unlimited".
using ResourceLimits = std::array<rlimit, kRlimits>;

/// Parses /proc/PID/limits (proc_pid_limits(5)). It is readable for every task; prlimit(2) for another user's task
/// needs CAP_SYS_RESOURCE. Throws Error unless all 16 limits are present.
[[nodiscard]] ResourceLimits parseLimits(std::string_view text);
[[nodiscard]] ResourceLimits readLimits(const ProcPid& process, ProcBuffer& buffer);

/// Raises the file limit of this process to its hard limit. Returns the new limit. Throws Error.
int raiseFileLimit();

/// Raises the file limit of this process and its later children to `count`, also beyond the hard limit. Returns false
/// without the capability for that, or if fs.nr_open is lower.
[[nodiscard]] bool makeRoomForFiles(std::size_t count) noexcept;

/// Returns the number of mappings that a process may have (vm.max_map_count). Throws Error.
[[nodiscard]] std::size_t allowedMappings();

}  // namespace criu::kernel
