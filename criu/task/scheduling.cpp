// SPDX-License-Identifier: GPL-2.0-only
#include "criu/task/scheduling.hpp"

#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <bit>

#include "criu/base/error.hpp"
#include "criu/image/record.hpp"
#include "criu/kernel/sched.hpp"
#include "images/core.hpp"

namespace criu::task {
namespace {

/// Returns the policy without the bit SCHED_RESET_ON_FORK.
std::uint32_t plain(std::uint32_t policy) {
    return policy & ~static_cast<std::uint32_t>(SCHED_RESET_ON_FORK);
}

bool isRealTime(std::uint32_t policy) {
    return plain(policy) == SCHED_FIFO || plain(policy) == SCHED_RR;
}

bool isFair(std::uint32_t policy) {
    return plain(policy) == SCHED_OTHER || plain(policy) == SCHED_BATCH || plain(policy) == SCHED_IDLE;
}

constexpr std::uint32_t kMostUtilization = 1024;  // SCHED_CAPACITY_SCALE
constexpr std::uint32_t kDeadline = 6;            // SCHED_DEADLINE
constexpr std::uint64_t kResetOnFork = 1;         // SCHED_FLAG_RESET_ON_FORK
constexpr int kIoOfProcess = 1;                   // IOPRIO_WHO_PROCESS, which means one thread

/// Returns true if a stored affinity mask permits all processors.
bool isUnbound(std::span<const std::byte> affinity) {
    return std::ranges::all_of(affinity, [](std::byte eight) { return eight == std::byte{0xff}; });
}

/// Attributes of a thread that must change. A field is unset or empty if the attribute has the wanted value.
struct Change {
    std::optional<std::int32_t> nice;
    std::optional<std::uint32_t> ioPriority;
    std::vector<std::byte> affinity;
    std::optional<std::uint32_t> policy;
    std::uint32_t priority = 0;  ///< real-time priority, set together with `policy`
    std::optional<kernel::KernelSchedAttributes> slice;
    std::optional<kernel::KernelSchedAttributes> clamps;
};

/// Returns the change of the slice. sched_setattr(2) sets policy, nice value and slice together, so the change contains
/// all of them.
std::optional<kernel::KernelSchedAttributes> sliceOf(const ThreadCoreEntry& core, const Scheduling& now) {
    if (core.has_sched_slice == 0 || core.sched_slice == now.slice)
        return std::nullopt;
    const std::uint32_t policy = core.has_sched_policy != 0 ? core.sched_policy : now.policy;
    if (!isFair(policy))
        return std::nullopt;
    kernel::KernelSchedAttributes wanted{};
    wanted.size = sizeof(wanted);
    wanted.policy = plain(policy);
    wanted.flags = policy != plain(policy) ? kResetOnFork : 0;
    wanted.nice = core.has_sched_nice != 0 ? core.sched_nice : now.nice;
    wanted.runtime = core.sched_slice;
    return wanted;
}

std::optional<kernel::KernelSchedAttributes> clampsOf(const ThreadCoreEntry& core, const Scheduling& now) {
    if (core.has_util_min == 0 || core.has_util_max == 0 || now.utilMax == 0 ||
        (core.util_min == now.utilMin && core.util_max == now.utilMax))
        return std::nullopt;
    constexpr std::uint64_t kKeepOthers = 0x18;  // SCHED_FLAG_KEEP_ALL
    constexpr std::uint64_t kClamps = 0x60;      // SCHED_FLAG_UTIL_CLAMP
    kernel::KernelSchedAttributes wanted{};
    wanted.size = sizeof(wanted);
    wanted.flags = kKeepOthers | kClamps;
    wanted.utilMin = core.util_min;
    wanted.utilMax = core.util_max;
    return wanted;
}

Change changeTo(const ThreadCoreEntry& core, const Scheduling& now) {
    Change change;
    if (core.has_sched_nice != 0 && core.sched_nice != now.nice)
        change.nice = core.sched_nice;
    if (core.has_io_priority != 0 && core.io_priority != now.ioPriority)
        change.ioPriority = core.io_priority;
    std::span<const std::byte> affinity = bytesOf(core.cpu_affinity);
    // Extends a mask that permits all processors, because this kernel may support more processors than the kernel of
    // the dump.
    const std::vector<std::uint64_t> everything(now.affinity.size(), ~std::uint64_t{0});
    if (isUnbound(affinity) && affinity.size() < everything.size() * sizeof(everything[0]))
        affinity = std::as_bytes(std::span(everything));
    if (core.has_cpu_affinity != 0 && !affinity.empty() &&
        !std::ranges::equal(affinity, std::as_bytes(std::span(now.affinity))))
        change.affinity.assign(affinity.begin(), affinity.end());
    const std::uint32_t policy = core.has_sched_policy != 0 ? core.sched_policy : now.policy;
    const std::uint32_t priority = isRealTime(policy) ? core.sched_prio : 0;
    if (policy != now.policy || priority != now.priority) {
        change.policy = policy;
        change.priority = priority;
    }
    change.slice = sliceOf(core, now);
    change.clamps = clampsOf(core, now);
    return change;
}

}  // namespace

bool Scheduling::hasUsualClamps() const noexcept {
    return utilMax == 0 || (utilMax == kMostUtilization && utilMin == (isRealTime(policy) ? kMostUtilization : 0));
}

Scheduling Scheduling::of(HostPid tid) {
    Scheduling now;
    const kernel::SchedAttributes attributes = kernel::schedAttributes(tid.value);
    now.policy = attributes.policy;
    if ((attributes.flags & kResetOnFork) != 0)
        now.policy |= SCHED_RESET_ON_FORK;
    now.priority = attributes.priority;
    now.nice = kernel::niceValue(tid.value);
    if (isFair(now.policy))
        now.slice = attributes.runtime;
    now.utilMin = attributes.utilMin;
    now.utilMax = attributes.utilMax;
    now.ioPriority = static_cast<std::uint32_t>(
        sys(::syscall(SYS_ioprio_get, kIoOfProcess, tid.value), "read I/O priority of thread {}", tid));
    now.affinity = kernel::cpuAffinity(tid.value);
    return now;
}

std::uint64_t usualSlice() {
    return Scheduling::of(HostPid()).slice;
}

void storeScheduling(HostPid tid, std::optional<std::size_t> onlineCpus, std::uint64_t usual, ThreadCoreEntry& core,
                     Arena& arena) {
    Scheduling now = Scheduling::of(tid);
    if (plain(now.policy) == kDeadline)
        fail("thread {} runs under SCHED_DEADLINE, whose state the kernel doesn't give out", tid);
    core.has_sched_policy = 1;
    core.sched_policy = now.policy;
    if (isRealTime(now.policy)) {
        core.has_sched_prio = 1;
        core.sched_prio = now.priority;
    }
    core.has_sched_nice = 1;
    core.sched_nice = now.nice;
    if (now.slice != 0 && now.slice != usual) {
        core.has_sched_slice = 1;
        core.sched_slice = now.slice;
    }
    if (!now.hasUsualClamps()) {
        core.has_util_min = core.has_util_max = 1;
        core.util_min = now.utilMin;
        core.util_max = now.utilMax;
    }
    core.has_io_priority = 1;
    core.io_priority = now.ioPriority;
    std::size_t allowed = 0;
    for (const std::uint64_t word : now.affinity)
        allowed += static_cast<std::size_t>(std::popcount(word));
    if (onlineCpus && allowed >= *onlineCpus)
        std::ranges::fill(now.affinity, ~std::uint64_t{0});
    core.has_cpu_affinity = 1;
    core.cpu_affinity = arena.bytes(std::as_bytes(std::span(now.affinity)));
}

void restoreScheduling(const ThreadCoreEntry& core, const Scheduling& now, pie::StepList& steps,
                       pie::RemoteData& data) {
    const Change change = changeTo(core, now);
    if (change.nice)
        steps.call(pie::Subject::Scheduler, static_cast<std::uint64_t>(*change.nice), SYS_setpriority, PRIO_PROCESS, 0,
                   *change.nice);
    if (change.ioPriority)
        steps.call(pie::Subject::Scheduler, *change.ioPriority, SYS_ioprio_set, kIoOfProcess, 0, *change.ioPriority);
    if (!change.affinity.empty()) {
        // Accepts any result, because this machine may lack the processors of the mask.
        steps
            .call(pie::Subject::Scheduler, 0, SYS_sched_setaffinity, 0, change.affinity.size(),
                  data.put(std::span<const std::byte>(change.affinity)))
            .check = pie::ResultCheck::Any;
    }
    if (change.policy) {
        sched_param param{};
        param.sched_priority = static_cast<int>(change.priority);
        steps.call(pie::Subject::Scheduler, *change.policy, SYS_sched_setscheduler, 0, *change.policy, data.put(param));
    }
    for (const auto& wanted : {change.slice, change.clamps})
        if (wanted)
            steps.call(pie::Subject::Scheduler, wanted->policy, SYS_sched_setattr, 0, data.put(*wanted), 0);
}

void applyScheduling(HostPid tid, const ThreadCoreEntry& core) {
    const Change change = changeTo(core, Scheduling::of(tid));
    if (change.nice)
        sys(::setpriority(PRIO_PROCESS, static_cast<id_t>(tid.value), *change.nice), "set nice value {} of thread {}",
            *change.nice, tid);
    if (change.ioPriority)
        sys(::syscall(SYS_ioprio_set, kIoOfProcess, tid.value, *change.ioPriority),
            "set I/O priority {:#x} of thread {}", *change.ioPriority, tid);
    if (!change.affinity.empty())
        (void)::syscall(SYS_sched_setaffinity, tid.value, change.affinity.size(), change.affinity.data());
    if (change.policy) {
        sched_param param{};
        param.sched_priority = static_cast<int>(change.priority);
        sys(::sched_setscheduler(tid.value, static_cast<int>(*change.policy), &param),
            "set scheduling policy {} and priority {} of thread {}", *change.policy, change.priority, tid);
    }
    for (const auto& wanted : {change.slice, change.clamps})
        if (wanted)
            sys(::syscall(SYS_sched_setattr, tid.value, &*wanted, 0), "set slice or clamps of thread {}", tid);
}

}  // namespace criu::task
