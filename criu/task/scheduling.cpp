// SPDX-License-Identifier: GPL-2.0-only
#include "criu/task/scheduling.hpp"

#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

#include "criu/base/error.hpp"
#include "criu/image/record.hpp"
#include "criu/kernel/sched.hpp"

namespace criu::task {
namespace {

/// The policy without SCHED_RESET_ON_FORK, which the kernel or's to it.
std::uint32_t plain(std::uint32_t policy) {
    return policy & ~static_cast<std::uint32_t>(SCHED_RESET_ON_FORK);
}

bool isRealTime(std::uint32_t policy) {
    return plain(policy) == SCHED_FIFO || plain(policy) == SCHED_RR;
}

constexpr std::uint32_t kDeadline = 6;  // SCHED_DEADLINE
constexpr int kIoOfProcess = 1;         // IOPRIO_WHO_PROCESS: a thread

}  // namespace

Scheduling Scheduling::of(pid_t tid) {
    Scheduling now;
    now.policy = static_cast<std::uint32_t>(sys(::sched_getscheduler(tid), "read scheduling policy of thread {}", tid));
    sched_param param{};
    sys(::sched_getparam(tid, &param), "read scheduling priority of thread {}", tid);
    now.priority = static_cast<std::uint32_t>(param.sched_priority);
    errno = 0;
    now.nice = ::getpriority(PRIO_PROCESS, static_cast<id_t>(tid));
    if (now.nice == -1 && errno != 0)
        failErrno("read nice value of thread {}", tid);
    now.ioPriority = static_cast<std::uint32_t>(
        sys(::syscall(SYS_ioprio_get, kIoOfProcess, tid), "read I/O priority of thread {}", tid));
    now.affinity = kernel::cpuAffinity(tid);
    return now;
}

void storeScheduling(pid_t tid, ThreadCoreEntry& core, Arena& arena) {
    const Scheduling now = Scheduling::of(tid);
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
    core.has_io_priority = 1;
    core.io_priority = now.ioPriority;
    core.has_cpu_affinity = 1;
    core.cpu_affinity = arena.bytes(std::as_bytes(std::span(now.affinity)));
}

void restoreScheduling(const ThreadCoreEntry& core, const Scheduling& now, pie::StepList& steps,
                       pie::RemoteData& data) {
    const std::int32_t nice = core.has_sched_nice != 0 ? core.sched_nice : now.nice;
    if (nice != now.nice)
        steps.call(pie::Subject::Scheduler, static_cast<std::uint64_t>(nice), SYS_setpriority, PRIO_PROCESS, 0, nice);
    if (core.has_io_priority != 0 && core.io_priority != now.ioPriority)
        steps.call(pie::Subject::Scheduler, core.io_priority, SYS_ioprio_set, kIoOfProcess, 0, core.io_priority);
    const std::span<const std::byte> affinity = bytesOf(core.cpu_affinity);
    if (core.has_cpu_affinity != 0 && !affinity.empty() &&
        !std::ranges::equal(affinity, std::as_bytes(std::span(now.affinity)))) {
        // A machine without those processors is no reason to fail.
        steps.call(pie::Subject::Scheduler, 0, SYS_sched_setaffinity, 0, affinity.size(), data.put(affinity)).judge =
            pie::Judge::Any;
    }
    const std::uint32_t policy = core.has_sched_policy != 0 ? core.sched_policy : now.policy;
    const std::uint32_t priority = isRealTime(policy) ? core.sched_prio : 0;
    if (policy != now.policy || priority != now.priority) {
        sched_param param{};
        param.sched_priority = static_cast<int>(priority);
        steps.call(pie::Subject::Scheduler, policy, SYS_sched_setscheduler, 0, policy, data.put(param));
    }
}

}  // namespace criu::task
