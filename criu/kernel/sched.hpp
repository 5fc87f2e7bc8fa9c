// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace criu::kernel {

/// Attributes of a thread from sched_getattr(2).
struct SchedAttributes {
    /// Scheduling policy: SCHED_OTHER, SCHED_FIFO and others.
    std::uint32_t policy = 0;
    /// Mask of SCHED_FLAG_… bits.
    std::uint64_t flags = 0;
    /// Nice value from -20 to 19, for SCHED_OTHER and SCHED_BATCH.
    std::int32_t nice = 0;
    /// Real-time priority from 1 to 99, for SCHED_FIFO and SCHED_RR.
    std::uint32_t priority = 0;
    /// Times of SCHED_DEADLINE in nanoseconds. For SCHED_OTHER, `runtime` is the custom slice (Linux 6.12).
    std::uint64_t runtime = 0;
    std::uint64_t deadline = 0;
    std::uint64_t period = 0;
    /// Limits of the utilization clamp, from 0 to 1024. `utilMax` is 0 if the kernel lacks CONFIG_UCLAMP_TASK.
    std::uint32_t utilMin = 0;
    std::uint32_t utilMax = 0;
};

/// struct sched_attr of sched_setattr(2). Repeated here, because <linux/sched/types.h>, which defines it, can't be
/// included together with <sched.h>.
struct KernelSchedAttributes {
    std::uint32_t size;
    std::uint32_t policy;
    std::uint64_t flags;
    std::int32_t nice;
    std::uint32_t priority;
    std::uint64_t runtime;
    std::uint64_t deadline;
    std::uint64_t period;
    std::uint32_t utilMin;
    std::uint32_t utilMax;
};
static_assert(sizeof(KernelSchedAttributes) == 56);

[[nodiscard]] SchedAttributes schedAttributes(pid_t tid);

/// Returns the nice value, from -20 (highest priority) to 19. Tasks of all scheduling policies have one.
[[nodiscard]] int niceValue(pid_t tid);

/// Returns the CPU affinity mask: bit n%64 of word n/64 stands for CPU n. Bits of offline CPUs are never set.
[[nodiscard]] std::vector<std::uint64_t> cpuAffinity(pid_t tid);

/// Returns the number of online CPUs of the machine, independent of the caller's affinity; nullopt if sysfs isn't
/// mounted.
[[nodiscard]] std::optional<std::size_t> onlineCpus();
/// Counts the CPUs in the text of /sys/devices/system/cpu/online, such as "0-3,6\n". Throws Error.
[[nodiscard]] std::size_t countCpus(std::string_view list);

/// Returns the CPUs of a list in sysfs, such as "0-3,6\n", as a mask like cpuAffinity(). Throws Error.
[[nodiscard]] std::vector<std::uint64_t> cpuMask(std::string_view list);

/// Restricts the calling thread to the CPUs in `list` on which it may run; see cpuMask(). Returns false, and changes
/// nothing, if it may run on none of them. Throws Error.
bool restrictThread(std::string_view list);

/// Robust futex list of a thread. To read it, criu needs ptrace access, and the thread should be stopped.
struct RobustList {
    std::uint64_t head = 0;
    std::size_t length = 0;
};
[[nodiscard]] RobustList robustList(pid_t tid);

/// Calls prlimit(2). Throws Error: EPERM for a task of another user without CAP_SYS_RESOURCE.
void setResourceLimit(pid_t pid, int resource, const rlimit& limit);

}  // namespace criu::kernel
