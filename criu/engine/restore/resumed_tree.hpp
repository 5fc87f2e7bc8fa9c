// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <functional>
#include <unordered_map>
#include <vector>

#include "criu/base/ids.hpp"
#include "criu/engine/fwd.hpp"

namespace criu::engine {

/// A restored tree after all processes have parked. All threads are seized and the restorer's memory is unmapped.
/// Credentials, registers, signal masks and POSIX locks are set as in the images.
///
/// No code of the tree has run, and no unprivileged process can trace one of the processes. The destructor kills the
/// processes unless resumeTasks() was called. A failing constructor kills them, too.
class ResumedTree {
public:
    ResumedTree(const RestoreRun& run, const PidMap& pids);
    ~ResumedTree();
    ResumedTree(const ResumedTree&) = delete;
    ResumedTree& operator=(const ResumedTree&) = delete;

    /// Calls `work` for each process, with its TreePid.
    void forEach(const std::function<void(compel::FrozenProcess& process, TreePid pid)>& work);

    /// Throws Error unless /proc shows the credentials of every thread, and the parent of every process, as in the
    /// images. So an earlier mistake can't give a process more privileges than it had.
    void requireRights(const RestoreRun& run, const PidMap& pids) const;

    /// Resumes all processes. Processes stopped in the images (or all, with `stopAll`) stop at once.
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

    std::vector<Member> members_;  ///< indices as in processes_
    /// Scope that kills the processes of a failed restore before their tracing ends. The kernel would resume them then.
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
