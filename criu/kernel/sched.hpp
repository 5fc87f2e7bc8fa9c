// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "criu/kernel/proc/limits.hpp"

namespace criu::kernel {

/// What sched_getattr(2) reports of a thread.
struct SchedAttributes {
    /// SCHED_….
    std::uint32_t policy = 0;
    /// SCHED_FLAG_….
    std::uint64_t flags = 0;
    /// SCHED_OTHER, SCHED_BATCH.
    std::int32_t nice = 0;
    /// SCHED_FIFO, SCHED_RR.
    std::uint32_t priority = 0;
    /// Nanoseconds; SCHED_DEADLINE, and the custom slice of SCHED_OTHER (`runtime`, 6.12).
    std::uint64_t runtime = 0;
    std::uint64_t deadline = 0;
    std::uint64_t period = 0;
};

[[nodiscard]] SchedAttributes schedAttributes(pid_t tid);

/// Nice value, -20 (most favoured) … 19, of a thread of any policy.
[[nodiscard]] int niceValue(pid_t tid);

/// Bit n%64 of word n/64 stands for CPU n. Processors that are offline are never in it.
[[nodiscard]] std::vector<std::uint64_t> cpuAffinity(pid_t tid);

/// How many processors the machine runs now, whatever the caller may use of them. Nothing where sysfs isn't mounted.
[[nodiscard]] std::optional<std::size_t> onlineCpus();
/// The same out of the text of /sys/devices/system/cpu/online, such as "0-3,6\n". Throws Error.
[[nodiscard]] std::size_t countCpus(std::string_view list);

/// Head of the list of robust futexes registered by a thread, as an address in its own process; 0 if none.
/// Needs ptrace access; the thread should be stopped.
struct RobustList {
    std::uint64_t head = 0;
    std::size_t length = 0;
};
[[nodiscard]] RobustList robustList(pid_t tid);

/// prlimit(2) without a new value. Throws Error; EPERM for a task of another user without CAP_SYS_RESOURCE.
[[nodiscard]] rlimit resourceLimit(pid_t pid, int resource);
void setResourceLimit(pid_t pid, int resource, const rlimit& limit);

/// All limits, by prlimit(2), or out of /proc/PID/limits where the kernel refuses that.
[[nodiscard]] ResourceLimits resourceLimits(pid_t pid, const ProcPid& process, ProcBuffer& buffer);

}  // namespace criu::kernel
