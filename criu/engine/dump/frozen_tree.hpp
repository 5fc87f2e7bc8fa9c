// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/resource.h>

#include <compel/process.hpp>
#include <cstdint>

#include <array>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "criu/kernel/proc/procdir.hpp"
#include "criu/kernel/proc/stat.hpp"
#include "criu/kernel/proc/status.hpp"
#include "criu/model/process_tree.hpp"
#include "criu/model/tree_pids.hpp"

namespace criu {
class Log;
class StopRequest;
}  // namespace criu

namespace criu::cgroup {
class Freezer;
}

namespace criu::files {
struct RingAnswers;
struct RingThread;
}  // namespace criu::files

namespace criu::kernel {
class CachedNamespaceIds;
class Sharing;
struct NamespaceIds;
enum class NamespaceKind : std::uint8_t;
}  // namespace criu::kernel

namespace criu::model {
struct ThreadObjects;
}

namespace criu::task {
enum class LabelModule : std::uint8_t;
}

namespace criu::engine {

/// Process of the dumped tree.
struct FrozenTask {
    explicit FrozenTask(kernel::ProcPid directory);
    ~FrozenTask();
    FrozenTask(const FrozenTask&) = delete;
    FrozenTask& operator=(const FrozenTask&) = delete;

    kernel::ProcPid dir;  ///< directory in /proc; that of a living thread if the main thread has ended
    kernel::TaskStat stat;
    kernel::TaskStatus status;
    std::optional<compel::FrozenProcess> process;  ///< the seized process; empty for a zombie
    model::TaskState state = model::TaskState::Alive;
    int stopSignal = 0;          ///< signal that stopped the process; 0 if it isn't stopped
    bool compat = false;         ///< true for a 32-bit process
    task::LabelModule labels{};  ///< security module that set the labels of the process' threads
    bool hasRings = false;       ///< true if the process has ring descriptors (io_uring)
    bool isSubreaper = false;    ///< true if the process gets orphans (prctl(2)); false before its core image is made
    /// Results of askRingOwners() for the rings that have a ring owner. The key is the ring's descriptor.
    std::map<int, std::shared_ptr<const files::RingAnswers>> ringAnswers;
    /// Results of examineRingThreads() for the rings with a kernel thread. The key is the ring's descriptor.
    std::map<int, std::shared_ptr<const files::RingThread>> ringThreads;
    /// Tid of the thread that is the kernel's parent of this process; 0 for the main thread of the parent process.
    HostPid parentThread;
    /// Objects that a thread doesn't share with the main thread. One element for each thread, in the order of
    /// process->threads(). Empty if all threads share all objects.
    std::vector<model::ThreadObjects> objects;
    bool staysChildless = false;  ///< true if the process has no children and can't get any while it is stopped
    std::size_t pidLevel = 0;     ///< number of levels from criu's pid namespace down to the tree's pid namespace

    [[nodiscard]] HostPid pid() const noexcept { return HostPid(stat.pid); }
    /// Returns the thread by which criu reads objects of a living process (/proc, kcmp(2), pidfds): the main thread, or
    /// another thread if the main thread has ended. The kernel shows an ended thread without memory and files.
    [[nodiscard]] HostPid actor() const noexcept { return HostPid(process->leader().tid()); }
    [[nodiscard]] bool leaderEnded() const noexcept { return process && process->leaderEnded(); }
    /// Returns the pid in the tree's pid namespace. group() and session() return 0 if the namespace doesn't contain the
    /// leader.
    [[nodiscard]] TreePid treePid() const noexcept { return atLevel(status.nsPid, stat.pid); }
    [[nodiscard]] TreePid group() const noexcept { return atLevel(status.nsPgid, stat.pgrp); }
    [[nodiscard]] TreePid session() const noexcept { return atLevel(status.nsSid, stat.session); }
    [[nodiscard]] bool alive() const noexcept { return process.has_value(); }
    /// Returns the inode number of the process' namespace of this kind. Reads each number only once.
    [[nodiscard]] std::optional<std::uint32_t> namespaceOf(kernel::NamespaceKind kind);
    [[nodiscard]] kernel::NamespaceIds namespaces();
    /// Returns the resource limits (kernel::ResourceLimits). Reads them only once.
    [[nodiscard]] const std::array<rlimit, RLIM_NLIMITS>& limits(kernel::ProcBuffer& buffer);
    /// Returns the objects that the thread at `index` doesn't share with the main thread; null if it shares all.
    [[nodiscard]] const model::ThreadObjects* objectsOf(std::size_t index) const noexcept;
    /// Returns "process 7 (sleep)" for messages.
    [[nodiscard]] std::string describe() const;

private:
    std::unique_ptr<kernel::CachedNamespaceIds> namespaces_;
    std::optional<std::array<rlimit, RLIM_NLIMITS>> limits_;

    /// Returns the pid in the tree's pid namespace. `nested`: pids from criu's pid namespace down to the task's, as in
    /// /proc/PID/status. Without CONFIG_PID_NS, this list is empty, and the result is `outside`.
    [[nodiscard]] TreePid atLevel(const std::vector<pid_t>& nested, pid_t outside) const noexcept {
        return TreePid(pidLevel < nested.size() ? nested[pidLevel] : outside);
    }
};

/// Process tree with all threads frozen. The destructor resumes the tree if kill() wasn't called.
class FrozenTree {
public:
    /// Makes an empty tree. `timeout`: maximum time for the freeze; 0 means no limit.
    FrozenTree(std::chrono::seconds timeout, StopRequest& stop, Log& log);
    ~FrozenTree();
    FrozenTree(const FrozenTree&) = delete;
    FrozenTree& operator=(const FrozenTree&) = delete;

    /// Throws Error if the kernel doesn't let criu trace the root process (requireTraceable()), or if the cgroup
    /// `group` can't be frozen. Call it before changes.
    static void requireAccess(HostPid root, const std::optional<std::string>& group);

    /// Freezes `root` and all its descendants. If the timeout passes, resumes all processes and throws Error. Call it
    /// once. `group`: path of a cgroup that criu freezes first, so that no process in it escapes by fork. `before`:
    /// function that freeze() calls once for each process before it freezes this process.
    void freeze(HostPid root, const std::optional<std::string>& group, const std::function<void(HostPid)>& before);

    /// Returns the freezer of the cgroup that freeze() got; null without a cgroup.
    [[nodiscard]] const cgroup::Freezer* freezer() const noexcept { return freezer_.get(); }
    [[nodiscard]] HostPid rootPid() const noexcept { return tasks_.front()->pid(); }

    /// Returns all processes, parents before children.
    [[nodiscard]] std::vector<std::unique_ptr<FrozenTask>>& tasks() noexcept { return tasks_; }
    /// Returns FrozenTask::actor() of the processes that aren't zombies.
    [[nodiscard]] std::vector<HostPid> actors() const;
    /// Returns which of the actors() share their descriptor tables. Compares them at the first call, which must come
    /// after freeze(). Throws Error.
    [[nodiscard]] const kernel::Sharing& sharedTables();
    /// Returns the process with this pid; null if it isn't in the tree.
    [[nodiscard]] FrozenTask* find(HostPid pid) const noexcept;

    /// Returns true if criu has suspended the seccomp filters of the tree. If it returns false, criu must not inject
    /// system calls into threads under seccomp. The kernel refuses the suspension if criu lacks CAP_SYS_ADMIN or runs
    /// under seccomp.
    [[nodiscard]] bool seccompSuspended() const noexcept { return options_.seize.suspendSeccomp; }

    /// Returns the map between HostPid and TreePid, which is complete after freeze().
    [[nodiscard]] const model::TreePids& pids() const noexcept { return pids_; }

    /// Kills all processes. Leaves the cgroup thawed, because it has no processes any more. Returns true if the root is
    /// init of criu's pid namespace; the processes of this namespace then end only when criu, the calling process,
    /// ends.
    [[nodiscard]] bool kill();
    /// Returns true if kill() has thrown Error and a process ends nevertheless.
    [[nodiscard]] bool endBegun() const noexcept { return endBegun_; }
    /// Resumes all processes; with `stopped`, sends SIGSTOP to them first. Freezes the cgroup again if it was frozen
    /// before the dump. Throws Error.
    void resume(bool stopped);
    /// Freezes or thaws the cgroup, whichever was its state before the dump. Throws Error.
    void restoreGroup();

private:
    void addTree(HostPid root);
    bool addChildren(FrozenTask& parent);
    [[nodiscard]] bool tryFor(HostPid child, const std::function<void()>& work);
    [[nodiscard]] bool hasEnded(HostPid pid, bool mainThread);
    void stopAdded(std::size_t first);
    [[nodiscard]] bool isChildOfMember(const FrozenTask& task) const;
    void add(HostPid pid);
    void addAll();
    bool seizeOthers(FrozenTask& task, HostPid pid);
    compel::FrozenProcess seize(HostPid pid) const;
    compel::FrozenProcess seizeAsAllowed(HostPid pid);
    void stop(FrozenTask& task);
    void learnPids();
    void learnPidsOf(FrozenTask& task);
    void clear() noexcept;

    kernel::ProcDir proc_;
    kernel::ProcBuffer buffer_;
    compel::FreezeOptions options_;
    std::chrono::seconds timeout_;
    StopRequest& stop_;
    Log& log_;
    std::function<void(HostPid)> before_;  ///< set only during freeze()
    /// True while criu has frozen the cgroup and only seizes threads: they can't reach their ptrace stop before the
    /// cgroup is thawed.
    bool onlySeizing_ = false;
    bool endBegun_ = false;
    std::vector<std::unique_ptr<FrozenTask>> tasks_;
    std::unordered_map<HostPid, FrozenTask*> known_;  ///< elements of `tasks_`; the key is the pid
    model::TreePids pids_;
    std::unique_ptr<const kernel::Sharing> sharedTables_;
    // last member, so that it is destroyed first: the cgroup is frozen again before the tasks are resumed
    std::unique_ptr<cgroup::Freezer> freezer_;
};

}  // namespace criu::engine
