// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/mapping_room.hpp"

#include <algorithm>
#include <cerrno>
#include <optional>

#include "criu/base/error.hpp"
#include "criu/base/log.hpp"
#include "criu/engine/restore/restore_images.hpp"
#include "criu/kernel/proc/limits.hpp"
#include "criu/kernel/proc/procdir.hpp"
#include "criu/memory/mappings/late_work.hpp"
#include "criu/model/process_tree.hpp"
#include "images/mm.hpp"

namespace criu::engine {
namespace {

/// Number of mappings that the restorer has in the process: code, control page, data, and the vDSO during its move.
/// Also counts a few mappings that must be free, because mremap(2) else fails (Linux 6.1).
constexpr std::size_t kOfRestorer = 12;

/// Comparison of the number of a process' mappings with vm.max_map_count.
class MappingCounts {
public:
    explicit MappingCounts(std::size_t allowed) noexcept : allowed_(allowed) {}

    /// Returns true if the process has so few mappings that they need no exact count.
    [[nodiscard]] bool isFew(const MmEntry& mm) const noexcept { return mm.n_vmas < allowed_ / 2; }

    /// Throws Error if the process has too many mappings. `saved`: number of mappings that the restore makes only when
    /// criu's mappings are unmapped.
    void require(const MmEntry& mm, std::size_t saved) {
        if (fits(mm, saved))
            return;
        Error error(ENOMEM, fmt::format("restore {} mappings beside {} of criu, where {} are allowed", mm.n_vmas, own(),
                                        allowed_));
        error.addHint("raise the sysctl vm.max_map_count");
        throw error;
    }

    [[nodiscard]] bool fits(const MmEntry& mm, std::size_t saved) {
        const std::size_t early = mm.n_vmas - std::min(mm.n_vmas, saved);
        return mm.n_vmas + kOfRestorer <= allowed_ && early + own() + kOfRestorer <= allowed_;
    }

    [[nodiscard]] std::size_t allowed() const noexcept { return allowed_; }

private:
    std::size_t own() {
        if (!own_) {
            const std::string maps = kernel::ProcDir().self().readFile("maps");
            own_ = static_cast<std::size_t>(std::count(maps.begin(), maps.end(), '\n'));
        }
        return *own_;
    }

    std::size_t allowed_;
    std::optional<std::size_t> own_;
};

}  // namespace

void requireMappingRoom(const RestoreImages& content) {
    MappingCounts counts(kernel::allowedMappings());
    for (const auto& task : content.tree.tasks) {
        if (!task->mm || counts.isFew(**task->mm))
            continue;
        const ErrorContext context([&] { return fmt::format("process {}", task->pid); });
        const auto plan = memory::LateWorkPlan::choose(**task->mm, *content.pages.at(task->pid), counts.allowed());
        counts.require(**task->mm, plan.saved());
    }
}

void requireMappingRoom(const MmEntry& mm, std::size_t allowed, const std::string& name, Log& log) {
    MappingCounts counts(allowed);
    if (counts.isFew(mm))
        return;
    counts.require(mm, memory::LateWorkPlan::mostSaved(mm));
    if (!counts.fits(mm, memory::LateWorkPlan::leastSaved(mm)))
        log.warn(
            "{} has {} mappings, and {} are allowed: if nearly all have content of their own, a restore wants the "
            "sysctl vm.max_map_count raised",
            name, mm.n_vmas, counts.allowed());
}

}  // namespace criu::engine
