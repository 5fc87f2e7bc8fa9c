// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/restore/scoped_rlimits.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <string>

#include "criu/base/error.hpp"
#include "criu/kernel/proc/procdir.hpp"
#include "criu/model/process_tree.hpp"
#include "images/core.hpp"
#include "images/mm.hpp"

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
    rlimit locked{RLIM_INFINITY, RLIM_INFINITY};
    if (::setrlimit(RLIMIT_MEMLOCK, &locked) != 0) {
        locked = {wanted[RLIMIT_MEMLOCK].rlim_max, wanted[RLIMIT_MEMLOCK].rlim_max};
        ::setrlimit(RLIMIT_MEMLOCK, &locked);
    }
}

/// Refuses a tree with too many mappings. A process has criu's mappings beside its own ones while it is restored, and
/// vm.max_map_count limits both. Without the check, allocations fail at random later.
void requireRoomForMappings(const model::ProcessTree& tree) {
    const kernel::ProcDir proc;
    const std::size_t most = std::stoul(proc.readFile("sys/vm/max_map_count"));
    std::optional<std::size_t> own;
    for (const auto& task : tree.tasks) {
        const std::size_t wanted = task->mm ? (**task->mm).n_vmas : 0;
        if (wanted < most / 2)
            continue;
        if (!own) {
            const std::string maps = proc.self().readFile("maps");
            own = static_cast<std::size_t>(std::count(maps.begin(), maps.end(), '\n'));
        }
        if (wanted + *own <= most)
            continue;
        Error error(ENOMEM, fmt::format("restore {} mappings of process {} beside {} of criu, where {} are allowed",
                                        wanted, task->pid, *own, most));
        error.addHint("raise the sysctl vm.max_map_count");
        throw error;
    }
}

}  // namespace

ScopedRlimits::ScopedRlimits() : before_(currentRlimits()) {}

ScopedRlimits::ScopedRlimits(const model::ProcessTree& tree, bool raiseAll) : ScopedRlimits() {
    requireRoomForMappings(tree);
    if (raiseAll)
        raise(tree, before_);
    files_ = kernel::raiseFileLimit();
}

int ScopedRlimits::makeRoomForFiles(std::size_t count) noexcept {
    // Descriptor numbers are of type int, which also limits fs.nr_open.
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
