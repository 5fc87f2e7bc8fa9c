// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/restore/scoped_rlimits.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <string>

#include "criu/base/error.hpp"
#include "criu/kernel/proc/procdir.hpp"
#include "criu/kernel/proc/status.hpp"
#include "criu/model/process_tree.hpp"
#include "criu/task/signals.hpp"
#include "images/core.hpp"

namespace criu::engine {
namespace {

void raise(const model::ProcessTree& tree, const kernel::ResourceLimits& before) {
    kernel::ResourceLimits wanted = before;
    for (const auto& task : tree.tasks) {
        const TaskCoreEntry* const core = task->core().tc;
        for (std::size_t i = 0; core->rlimits != nullptr && i < core->rlimits->n_rlimits && i < wanted.size(); ++i)
            wanted[i].rlim_max = std::max<rlim_t>(wanted[i].rlim_max, core->rlimits->rlimits[i]->max);
    }
    for (unsigned i = 0; i < wanted.size(); ++i)
        if (wanted[i].rlim_max != before[i].rlim_max && ::setrlimit(static_cast<__rlimit_resource>(i), &wanted[i]) != 0)
            failErrno("raise own resource limit {} from {} to {}, which a process of the tree has", i,
                      before[i].rlim_max, wanted[i].rlim_max);
}

/// Raises the limits of objects that the kernel counts for each user of a user namespace (enum rlimit_type in
/// <linux/user_namespace.h>). When a process creates a user namespace, its soft limits become limits of all users in
/// this namespace (create_user_ns()).
void raiseLimitsOfUser() {
    for (const auto resource : {RLIMIT_NPROC, RLIMIT_MSGQUEUE, RLIMIT_SIGPENDING, RLIMIT_MEMLOCK}) {
        rlimit wanted{RLIM_INFINITY, RLIM_INFINITY};
        if (::setrlimit(resource, &wanted) == 0)
            continue;
        sys(::getrlimit(resource, &wanted), "read own resource limit {}", static_cast<int>(resource));
        wanted.rlim_cur = wanted.rlim_max;
        sys(::setrlimit(resource, &wanted), "raise own resource limit {} to {}", static_cast<int>(resource),
            wanted.rlim_max);
    }
}

/// Number of signals and timers of the tree that the kernel counts for RLIMIT_SIGPENDING.
struct QueueNeeds {
    std::uint64_t all = 0;
    std::uint64_t limited = 0;  ///< part of the entries that the kernel refuses above the limit

    void add(const SignalQueueEntry* queue) {
        for (std::size_t i = 0; queue != nullptr && i < queue->n_signals; ++i) {
            ++all;
            limited += task::needsRoomInQueue(queue->signals[i]->siginfo) ? 1 : 0;
        }
    }
};

QueueNeeds queueNeedsOf(const model::ProcessTree& tree) {
    QueueNeeds needs;
    for (const auto& task : tree.tasks) {
        if (!task->alive())
            continue;
        const TaskCoreEntry& core = *task->core().tc;
        needs.add(core.signals_s);
        for (const model::Thread& thread : task->threads)
            needs.add((*thread.core)->thread_core->signals_p);
        const std::uint64_t timers = core.timers != nullptr ? core.timers->n_posix : 0;
        needs.all += timers;
        needs.limited += timers;
    }
    return needs;
}

void requireRoomInQueue(const model::ProcessTree& tree) {
    rlimit limit{};
    sys(::getrlimit(RLIMIT_SIGPENDING, &limit), "read the limit of queued signals");
    const QueueNeeds needs = queueNeedsOf(tree);
    if (limit.rlim_cur == RLIM_INFINITY || needs.limited == 0)
        return;
    kernel::ProcBuffer buffer;
    const std::uint64_t queued = kernel::readStatus(kernel::ProcDir().self(), buffer).queuedSignals;
    if (queued + needs.all <= limit.rlim_cur)
        return;
    Error error(EAGAIN, fmt::format("restore {} pending signals and POSIX timers, where the user of criu has {} already"
                                    " and may have {} (RLIMIT_SIGPENDING)",
                                    needs.all, queued, limit.rlim_cur));
    error.addHint("raise that limit (ulimit -i), or give criu CAP_SYS_RESOURCE");
    throw error;
}

}  // namespace

ScopedRlimits::ScopedRlimits() : before_(currentRlimits()) {}

ScopedRlimits::ScopedRlimits(const model::ProcessTree& tree, bool raiseAll) : ScopedRlimits() {
    if (raiseAll)
        raise(tree, before_);
    raiseLimitsOfUser();
    requireRoomInQueue(tree);
    files_ = kernel::raiseFileLimit();
}

int ScopedRlimits::makeRoomForFiles(std::size_t count) noexcept {
    // Descriptor numbers have type int, so fs.nr_open can't be higher than its maximum.
    constexpr std::size_t kMost = std::numeric_limits<int>::max();
    if (count > static_cast<std::size_t>(files_) && count <= kMost && kernel::makeRoomForFiles(count))
        files_ = static_cast<int>(count);
    return files_;
}

void ScopedRlimits::putBack() const noexcept {
    for (unsigned i = 0; i < before_.size(); ++i)
        ::setrlimit(static_cast<__rlimit_resource>(i), &before_[i]);
}

kernel::ResourceLimits currentRlimits() {
    kernel::ProcBuffer buffer;
    return kernel::readLimits(kernel::ProcDir().self(), buffer);
}

}  // namespace criu::engine
