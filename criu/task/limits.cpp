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

/// Returns the limit to set; nullopt if the process already has it from its creator.
std::optional<rlimit> wantedLimit(const TaskCoreEntry& core, const LimitsAtBirth& birth, std::size_t resource) {
    if (resource >= birth.now.size())
        return std::nullopt;
    rlimit wanted = birth.fallback[resource];
    if (core.rlimits != nullptr && resource < core.rlimits->n_rlimits)
        wanted = {core.rlimits->rlimits[resource]->cur, core.rlimits->rlimits[resource]->max};
    if (wanted.rlim_cur == birth.now[resource].rlim_cur && wanted.rlim_max == birth.now[resource].rlim_max)
        return std::nullopt;
    return wanted;
}

}  // namespace

void restoreLimits(const TaskCoreEntry& core, const LimitsAtBirth& birth, std::uint32_t later, pie::StepList& steps,
                   pie::RemoteData& data) {
    for (std::size_t i = 0; i < birth.now.size(); ++i)
        if ((later >> i & 1U) == 0)
            restoreLimit(core, birth, static_cast<int>(i), steps, data);
}

void restoreLimit(const TaskCoreEntry& core, const LimitsAtBirth& birth, int resource, pie::StepList& steps,
                  pie::RemoteData& data) {
    const auto number = static_cast<std::uint64_t>(resource);
    if (const auto limit = wantedLimit(core, birth, number))
        steps.call(pie::Subject::ResourceLimit, number, SYS_prlimit64, 0, number, data.put(*limit), 0);
}

void restoreLimit(const TaskCoreEntry& core, const LimitsAtBirth& birth, int resource, pid_t pid) {
    if (const auto limit = wantedLimit(core, birth, static_cast<std::size_t>(resource)))
        kernel::setResourceLimit(pid, resource, *limit);
}

}  // namespace criu::task
