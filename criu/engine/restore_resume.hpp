// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <compel/process.hpp>

#include <unordered_map>
#include <vector>

#include "criu/engine/pid_map.hpp"
#include "criu/engine/restore_run.hpp"
#include "criu/model/process_tree.hpp"

namespace criu::engine {

/// A restored tree whose processes have parked: all threads are seized, the restorer's memory is taken away and
/// registers, signal masks and POSIX locks are the image's. Nothing of it has run yet. Destroyed before letGo(), or not
/// completely made, it ends the processes.
class ResumedTree {
public:
    ResumedTree(const RestoreRun& run, const PidMap& pids);

    [[nodiscard]] std::vector<compel::FrozenProcess>& processes() noexcept { return processes_; }

    /// Lets all processes run; those that were stopped in the image (or all, if `stopAll`) stop at once.
    void letGo(bool stopAll);

private:
    /// Threads of one process by their number in the image.
    using Threads = std::unordered_map<pid_t, compel::FrozenThread*>;

    void take(const RestoreRun& run, const PidMap& pids, const model::Task& task, const AreaSlot* area);
    static void moveThreads(const model::Task& task, const Threads& threads, cgroup::CgroupRestore& cgroups);
    static void setThreads(const model::Task& task, const Threads& threads);

    std::vector<const model::Task*> tasks_;  ///< of processes_
    /// Whoever is let go by the end of its tracing would run at once, from a restore that has failed.
    class Ender {
    public:
        explicit Ender(const std::vector<compel::FrozenProcess>& processes) noexcept : processes_(processes) {}
        ~Ender();
        Ender(const Ender&) = delete;
        Ender& operator=(const Ender&) = delete;

    private:
        const std::vector<compel::FrozenProcess>& processes_;
    };
    std::vector<compel::FrozenProcess> processes_;
    Ender ender_{processes_};
};

}  // namespace criu::engine
