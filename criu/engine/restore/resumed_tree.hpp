// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <functional>
#include <unordered_map>
#include <vector>

#include "criu/base/ids.hpp"
#include "criu/engine/fwd.hpp"

namespace criu::engine {

/// Restored tree whose threads are all seized. The constructor seizes the parked processes, unmaps the restorer, and
/// sets the dumped credentials, registers, signal masks and POSIX locks.
///
/// No code of the tree has run, and no unprivileged process can access one of the processes until prepareResume(). If
/// the constructor fails, or the destructor runs before resumeTasks(), criu kills the processes.
class ResumedTree {
public:
    ResumedTree(const RestoreRun& run, const PidMap& pids);
    ~ResumedTree();
    ResumedTree(const ResumedTree&) = delete;
    ResumedTree& operator=(const ResumedTree&) = delete;

    /// Calls `work` for each process, with its TreePid.
    void forEach(const std::function<void(compel::FrozenProcess& process, TreePid pid)>& work);

    /// Throws Error if /proc shows other credentials of a thread, or another parent of a process, than the images. So
    /// an error in criu can't give a process more privileges than it had.
    void requireRights(const RestoreRun& run, const PidMap& pids) const;

    /// Group-stops the processes that were stopped at the dump; with `stopAll`, every process. `freezes`: true if
    /// criu or a listener may freeze cgroups of processes before resumeTasks(). The kernel executes no system call in a
    /// frozen cgroup, so this function then also makes processes dumpable.
    void prepareResume(const RestoreRun& run, bool stopAll, bool freezes);
    /// Resumes all processes, except group-stopped ones. Call prepareResume() before.
    void resumeTasks(const RestoreRun& run);

private:
    using Threads = std::unordered_map<TreePid, compel::FrozenThread*>;

    struct Member;

    void seize(const RestoreRun& run, const PidMap& pids, const RestorerAreas& areas);
    static void releaseFiles(const RestoreRun& run, compel::FrozenProcess& process, const Member& member);
    void dropPrivileges(const RestoreRun& run, std::size_t first, std::size_t end);
    static void complete(const RestoreRun& run, compel::FrozenProcess& process, const Member& member);
    static void show(const RestoreRun& run, compel::FrozenProcess& process, const model::Task& task);
    static void moveThreads(const model::Task& task, const Threads& threads, cgroup::CgroupRestore& cgroups);
    static void setThreads(const model::Task& task, const Threads& threads);

    std::vector<HostPid> stopped_;  ///< group-stopped processes
    bool shown_ = false;            ///< true if the processes have the dumpable flag of the images
    std::vector<Member> members_;   ///< data of the processes, with the indices of `processes_`
    /// Scope that kills the processes of a failed restore before criu stops tracing them, because the kernel would then
    /// resume them.
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
