// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <compel/remote_syscalls.hpp>

#include <functional>
#include <optional>
#include <unordered_map>
#include <vector>

#include "criu/base/ids.hpp"
#include "criu/engine/fwd.hpp"
#include "criu/engine/restore/process_standby.hpp"

namespace criu::engine {

/// Restored tree whose threads are all seized. The constructor seizes the parked processes, and sets the dumped
/// credentials, registers, signal masks and POSIX locks.
///
/// No code of the tree has run, and no unprivileged process can access one of the processes until commit(). If the
/// constructor fails, or the destructor runs before resumeTasks(), criu kills the processes. If criu is killed, the
/// processes end before the commit, and continue after it.
class ResumedTree {
public:
    /// `keepsRestorer`: true for a stand-by of the tree from commit() on. False unmaps the restorer at once, because
    /// device subsystems may need its addresses, or because the tree must not run without criu. The kernel then kills
    /// processes with criu until resumeTasks(), so a criu that is killed in resumeTasks() may leave a part of the tree.
    ResumedTree(const RestoreRun& run, const PidMap& pids, bool keepsRestorer);
    ~ResumedTree();
    ResumedTree(const ResumedTree&) = delete;
    ResumedTree& operator=(const ResumedTree&) = delete;

    /// Calls `work` for each process, with its TreePid.
    void forEach(const std::function<void(compel::FrozenProcess& process, TreePid pid)>& work);

    /// Throws Error if /proc shows other credentials of a thread, or another parent of a process, than the images. So
    /// an error in criu can't give a process more privileges than it had.
    void requireRights(const RestoreRun& run, const PidMap& pids) const;

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

    void seize(const RestoreRun& run, const PidMap& pids, const RestorerAreas& areas);
    static void releaseFiles(const RestoreRun& run, compel::FrozenProcess& process, const Member& member);
    void dropPrivileges(const RestoreRun& run, const PidMap& pids, std::size_t first, std::size_t end);
    void complete(const RestoreRun& run, compel::FrozenProcess& process, const Member& member) const;
    [[nodiscard]] bool beginStandby(const RestoreRun& run, bool stopAll);
    void recordProcesses(Log& log) const;
    void endStandby(const RestoreRun& run);
    void show(const RestoreRun& run, std::size_t index);
    template <typename Work>
    void attempt(const RestoreRun& run, std::size_t index, const Work& work);
    template <typename Work>
    void forEachLiving(const RestoreRun& run, const Work& work);
    void stop(std::size_t index, bool stopAll);
    void unmapRestorers(const RestoreRun& run, std::size_t first, std::size_t end);
    std::optional<compel::SyscallInstruction> instructionOf(compel::FrozenProcess& process);
    [[nodiscard]] static bool becomesDumpable(const RestoreRun& run, const model::Task& task);
    void setThreads(compel::FrozenProcess& process, const Member& member) const;
    void endLeaders(const RestoreRun& run);
    template <typename Work>
    static void forEachDispatch(const model::Task& task, const Threads& threads, const Work& work);

    bool keepsRestorer_;
    bool standsBy_ = false;  ///< true if `standbys_` has the stand-by of all processes
    bool finished_ = false;  ///< true if only detaching is left
    std::vector<ProcessStandby> standbys_;
    std::optional<compel::SyscallInstruction> instruction_;  ///< instruction of the last process that has a restorer
    std::vector<HostPid> stopped_;                           ///< group-stopped processes
    std::vector<Member> members_;  ///< data of the processes, with the indices of `processes_`
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
