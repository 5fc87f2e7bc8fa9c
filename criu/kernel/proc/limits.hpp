// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/resource.h>

#include <array>
#include <cstddef>
#include <string_view>

#include "criu/kernel/proc/procdir.hpp"

namespace criu::kernel {

inline constexpr std::size_t kRlimits = 16;

/// Resource limits; the index is the RLIMIT_… number. RLIM_INFINITY stands for "unlimited".
using ResourceLimits = std::array<rlimit, kRlimits>;

/// Parses /proc/PID/limits (proc_pid_limits(5)). criu uses this file because any process may read it, while prlimit(2)
/// on another user's task needs CAP_SYS_RESOURCE. Throws Error if one of the 16 limits is missing.
[[nodiscard]] ResourceLimits parseLimits(std::string_view text);
[[nodiscard]] ResourceLimits readLimits(const ProcPid& process, ProcBuffer& buffer);

/// Raises the soft limit of open files of this process to its hard limit. Returns the new limit. Throws Error.
int raiseFileLimit();

/// Raises the limit of open files of this process and its later children to `count`. If necessary, also raises the hard
/// limit. Returns false if criu lacks CAP_SYS_RESOURCE, or if fs.nr_open is lower.
[[nodiscard]] bool makeRoomForFiles(std::size_t count) noexcept;

/// Returns the maximal number of mappings of a process (vm.max_map_count). Throws Error.
[[nodiscard]] std::size_t allowedMappings();

}  // namespace criu::kernel
