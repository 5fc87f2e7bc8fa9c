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
    /// SCHED_….
    std::uint32_t policy = 0;
    /// SCHED_FLAG_….
    std::uint64_t flags = 0;
    /// Nice value, for SCHED_OTHER and SCHED_BATCH.
    std::int32_t nice = 0;
    /// Priority, for SCHED_FIFO and SCHED_RR.
    std::uint32_t priority = 0;
    /// Nanoseconds, for SCHED_DEADLINE. `runtime` is also the custom slice of SCHED_OTHER (Linux 6.12).
    std::uint64_t runtime = 0;
    std::uint64_t deadline = 0;
    std::uint64_t period = 0;
    /// Utilization clamps. `utilMax` is 0 if the kernel has none (CONFIG_UCLAMP_TASK).
    std::uint32_t utilMin = 0;
    std::uint32_t utilMax = 0;
};

/// struct sched_attr of sched_setattr(2). <linux/sched/types.h> can't be included together with <sched.h>.
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

/// Returns the nice value of a thread of any policy, from -20 (most favoured) to 19.
[[nodiscard]] int niceValue(pid_t tid);

/// Returns the CPU mask: bit n%64 of word n/64 stands for CPU n. Offline CPUs are never set.
[[nodiscard]] std::vector<std::uint64_t> cpuAffinity(pid_t tid);

/// Returns the number of online CPUs of the machine, regardless of the caller's affinity. Nullopt if sysfs isn't
/// mounted.
[[nodiscard]] std::optional<std::size_t> onlineCpus();
/// Counts the CPUs in the text of /sys/devices/system/cpu/online, such as "0-3,6\n". Throws Error.
[[nodiscard]] std::size_t countCpus(std::string_view list);

/// Robust futex list of a thread. `head` is an address in its process; 0 if none is registered. Reading needs ptrace
/// access, and the thread should be stopped.
struct RobustList {
    std::uint64_t head = 0;
    std::size_t length = 0;
};
[[nodiscard]] RobustList robustList(pid_t tid);

/// Calls prlimit(2). Throws Error: EPERM for a task of another user without CAP_SYS_RESOURCE.
void setResourceLimit(pid_t pid, int resource, const rlimit& limit);

}  // namespace criu::kernel
