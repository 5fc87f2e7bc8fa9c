// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <compel/remote_syscalls.hpp>

#include <cstddef>
#include <functional>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "criu/base/ids.hpp"
#include "criu/base/thread_lanes.hpp"
#include "criu/engine/fwd.hpp"

namespace criu::engine {

/// Restored tree whose threads are all seized. The constructor seizes the parked processes, and sets the dumped
/// credentials, registers, signal masks and POSIX locks. Several threads share this work (ThreadLanes).
///
/// No code of the tree has run, and no unprivileged process can access one of the processes until commit(). If the
/// constructor fails, or the destructor runs before resumeTasks(), criu kills the processes. If criu is killed, the
/// processes end before the commit, and continue after it.
class ResumedTree {
public:
    /// `keepsRestorer`: true for a stand-by of the tree from commit() on. False unmaps the restorer at once, because
    /// device subsystems may need its addresses, or because the tree must not run without criu. The kernel then kills
    /// processes with criu until resumeTasks(), so a criu that is killed in resumeTasks() may leave a part of the tree.
    /// With false, the calling thread traces all processes, because device subsystems make calls in them.
    ResumedTree(const RestoreRun& run, const PidMap& pids, bool keepsRestorer);
    ~ResumedTree();
    ResumedTree(const ResumedTree&) = delete;
    ResumedTree& operator=(const ResumedTree&) = delete;

    /// Calls `work` for each process, with its TreePid.
    void forEach(const std::function<void(compel::FrozenProcess& process, TreePid pid)>& work);

    /// Throws Error if /proc shows other credentials of a thread, or another parent of a process, than the images. So
    /// an error in criu can't give a process more privileges than it had.
    void requireRights(const RestoreRun& run, const PidMap& pids);

    /// Makes processes dumpable, and commits the restore. Afterwards, processes in stand-by continue even if criu is
    /// killed. `stopAll`: true if settle() stops all processes. Throws Error only before the commit.
    void commit(const RestoreRun& run, bool stopAll);
    /// True if the processes are in stand-by. Otherwise, the kernel kills them with criu until resumeTasks().
    [[nodiscard]] bool standsBy() const noexcept { return standsBy_; }
    /// Group-stops the processes that were stopped at the dump; with `stopAll`, every process. Call it after commit().
    /// `freezes`: true if criu or a listener may freeze cgroups of processes before resumeTasks(). The kernel executes
    /// no system call in a frozen cgroup, so this function then also unmaps the restorer. Throws no Error.
    void settle(const RestoreRun& run, bool stopAll, bool freezes);
    /// Unmaps the restorer, and resumes all processes except group-stopped ones. Call settle() before.
    void resumeTasks(const RestoreRun& run);

private:
    using Threads = std::unordered_map<TreePid, compel::FrozenThread*>;

    struct Member;

    template <typename Step>
    void inLanes(const Step& step);
    template <typename Work>
    void inBatches(const Work& work);
    void seize(const RestoreRun& run, const PidMap& pids);
    static void releaseFiles(const RestoreRun& run, Member& member);
    void dropPrivileges(const RestoreRun& run, const PidMap& pids, std::size_t first, std::size_t end);
    void moveThreads(const Member& member, cgroup::CgroupRestore& cgroups);
    void createPolledRings(const RestoreRun& run, const PidMap& pids);
    void complete(const RestoreRun& run, Member& member) const;
    static void setScheduling(const RestoreRun& run, const Member& member);
    [[nodiscard]] bool beginStandby(const RestoreRun& run, bool stopAll);
    void recordProcesses(Log& log) const;
    void recordRestorers(Log& log) const;
    void endStandby(const RestoreRun& run);
    static void show(const RestoreRun& run, Member& member);
    template <typename Work>
    void forEachLiving(const RestoreRun& run, const Work& work);
    static void stop(Member& member, bool stopAll);
    [[nodiscard]] static bool becomesDumpable(const RestoreRun& run, const model::Task& task);
    void endLeaders(const RestoreRun& run);
    template <typename Work>
    static void forEachDispatch(const Member& member, const Work& work);

    bool keepsRestorer_;
    bool standsBy_ = false;  ///< true if all members have a stand-by
    bool finished_ = false;  ///< true if only detaching is left
    std::vector<Member> members_;
    ThreadLanes lanes_;
    std::mutex moving_;  ///< held while a thread is moved to another cgroup
    /// Scope that kills the processes of a failed restore before criu stops tracing them, because the kernel would then
    /// resume them.
    class KillOnFailure {
    public:
        explicit KillOnFailure(ResumedTree& tree) noexcept : tree_(tree) {}
        ~KillOnFailure();
        KillOnFailure(const KillOnFailure&) = delete;
        KillOnFailure& operator=(const KillOnFailure&) = delete;

    private:
        ResumedTree& tree_;
    };
    KillOnFailure ender_{*this};
};

}  // namespace criu::engine
