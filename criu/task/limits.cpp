// SPDX-License-Identifier: GPL-2.0-only
#include "criu/task/limits.hpp"

#include <sys/syscall.h>

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

void restoreLimits(const TaskCoreEntry& core, const kernel::ResourceLimits& now, pie::StepList& steps,
                   pie::RemoteData& data) {
    if (core.rlimits == nullptr)
        return;
    for (std::size_t i = 0; i < core.rlimits->n_rlimits && i < now.size(); ++i) {
        const RlimitEntry& wanted = *core.rlimits->rlimits[i];
        if (wanted.cur == now[i].rlim_cur && wanted.max == now[i].rlim_max)
            continue;
        const rlimit limit{wanted.cur, wanted.max};
        steps.call(pie::Subject::ResourceLimit, i, SYS_prlimit64, 0, i, data.put(limit), 0);
    }
}

}  // namespace criu::task
