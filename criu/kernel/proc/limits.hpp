// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/resource.h>

#include <array>
#include <cstddef>
#include <string_view>

#include "criu/kernel/proc/procdir.hpp"

namespace criu::kernel {

inline constexpr std::size_t kRlimits = 16;

/// Indexed by RLIMIT_…; RLIM_INFINITY for "unlimited".
using ResourceLimits = std::array<rlimit, kRlimits>;

/// /proc/PID/limits (proc_pid_limits(5)): readable for every task, where prlimit(2) on a task of another user takes
/// CAP_SYS_RESOURCE. Throws Error unless all 16 are there.
[[nodiscard]] ResourceLimits parseLimits(std::string_view text);
[[nodiscard]] ResourceLimits readLimits(const ProcPid& process, ProcBuffer& buffer);

/// Lets this process open as many files as its hard limit allows. Returns how many that are. Throws Error.
int raiseFileLimit();

/// Has this process, and those it creates, have room for so many descriptors: also beyond its limit, if it has the
/// right to raise that. False if it hasn't, or the kernel allows no process as many (fs.nr_open).
[[nodiscard]] bool makeRoomForFiles(std::size_t count) noexcept;

}  // namespace criu::kernel
