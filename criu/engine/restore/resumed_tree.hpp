// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <functional>
#include <unordered_map>
#include <vector>

#include "criu/base/ids.hpp"

namespace compel {
class FrozenProcess;
struct FrozenThread;
}  // namespace compel

namespace criu::engine {
class PidMap;
}

namespace criu::model {
struct Task;
}

namespace criu::cgroup {
class CgroupRestore;
}

namespace criu::engine {
struct RestoreRun;
class RestorerAreas;

/// A restored tree whose processes have parked: all threads are seized, the restorer's memory is taken away and
/// credentials, registers, signal masks and POSIX locks are the image's. Nothing of it has run yet, and no process of a
/// user without rights can trace one of them. Destroyed before resumeTasks(), or not completely made, it ends the
/// processes.
class ResumedTree {
public:
    ResumedTree(const RestoreRun& run, const PidMap& pids);
    ~ResumedTree();
    ResumedTree(const ResumedTree&) = delete;
    ResumedTree& operator=(const ResumedTree&) = delete;

    /// Calls `work` for each process, with what images call it.
    void forEach(const std::function<void(compel::FrozenProcess& process, TreePid pid)>& work);

    /// Throws Error unless /proc says of every thread what the image says of its rights, and of every process whose
    /// child it is: whatever went wrong before, nobody gets more than he had.
    void requireRights(const RestoreRun& run, const PidMap& pids) const;

    /// Lets all processes run; those that were stopped in the image (or all, if `stopAll`) stop at once.
    void resumeTasks(const RestoreRun& run, bool stopAll);

private:
    using Threads = std::unordered_map<TreePid, compel::FrozenThread*>;

    struct Member;

    void seize(const RestoreRun& run, const PidMap& pids, const model::Task& task, const RestorerAreas& areas);
    static void releaseFiles(const RestoreRun& run, compel::FrozenProcess& process, const Member& member);
    static void complete(const RestoreRun& run, compel::FrozenProcess& process, const Member& member);
    static void show(const RestoreRun& run, compel::FrozenProcess& process, const model::Task& task);
    static void moveThreads(const model::Task& task, const Threads& threads, cgroup::CgroupRestore& cgroups);
    static void setThreads(const model::Task& task, const Threads& threads);

    std::vector<Member> members_;  ///< of processes_
    /// Whoever is let go by the end of its tracing would run at once, from a restore that has failed.
    class KillOnFailure {
    public:
        explicit KillOnFailure(std::vector<compel::FrozenProcess>& processes) noexcept : processes_(processes) {}
        ~KillOnFailure();
        KillOnFailure(const KillOnFailure&) = delete;
        KillOnFailure& operator=(const KillOnFailure&) = delete;

    private:
        std::vector<compel::FrozenProcess>& processes_;
    };
    std::vector<compel::FrozenProcess> processes_;
    KillOnFailure ender_{processes_};
};

}  // namespace criu::engine
