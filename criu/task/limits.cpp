// SPDX-License-Identifier: GPL-2.0-only
#include "criu/task/limits.hpp"

#include <sys/syscall.h>

#include <optional>

#include "criu/kernel/sched.hpp"
#include "images/core.hpp"

namespace criu::task {

void storeLimits(const kernel::ResourceLimits& limits, TaskCoreEntry& core, Arena& arena) {
    auto& entry = *arena.make<TaskRlimitsEntry>();
    core.rlimits = &entry;
    entry.n_rlimits = limits.size();
    entry.rlimits = arena.array<RlimitEntry*>(limits.size());
    for (std::size_t i = 0; i < limits.size(); ++i) {
        entry.rlimits[i] = arena.make<RlimitEntry>();
        entry.rlimits[i]->cur = limits[i].rlim_cur;
        entry.rlimits[i]->max = limits[i].rlim_max;
    }
}

namespace {

/// Returns the limit to set; empty if it is equal already.
std::optional<rlimit> wantedLimit(const TaskCoreEntry& core, const kernel::ResourceLimits& now, std::size_t resource) {
    if (core.rlimits == nullptr || resource >= core.rlimits->n_rlimits || resource >= now.size())
        return std::nullopt;
    const RlimitEntry& wanted = *core.rlimits->rlimits[resource];
    if (wanted.cur == now[resource].rlim_cur && wanted.max == now[resource].rlim_max)
        return std::nullopt;
    return rlimit{wanted.cur, wanted.max};
}

}  // namespace

void restoreLimits(const TaskCoreEntry& core, const kernel::ResourceLimits& now, int except, pie::StepList& steps,
                   pie::RemoteData& data) {
    for (std::size_t i = 0; i < now.size(); ++i)
        if (const auto limit = wantedLimit(core, now, i); limit && static_cast<int>(i) != except)
            steps.call(pie::Subject::ResourceLimit, i, SYS_prlimit64, 0, i, data.put(*limit), 0);
}

void restoreLimit(const TaskCoreEntry& core, const kernel::ResourceLimits& now, int resource, pid_t pid) {
    if (const auto limit = wantedLimit(core, now, static_cast<std::size_t>(resource)))
        kernel::setResourceLimit(pid, resource, *limit);
}

}  // namespace criu::task
