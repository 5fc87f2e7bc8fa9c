// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <compel/process.hpp>
#include <cstdint>

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
}

namespace criu::kernel {
class CachedNamespaceIds;
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

/// A process of the dumped tree.
struct FrozenTask {
    explicit FrozenTask(kernel::ProcPid directory);
    ~FrozenTask();
    FrozenTask(const FrozenTask&) = delete;
    FrozenTask& operator=(const FrozenTask&) = delete;

    kernel::ProcPid dir;
    kernel::TaskStat stat;
    kernel::TaskStatus status;
    std::optional<compel::FrozenProcess> process;  ///< empty for a zombie
    model::TaskState state = model::TaskState::Alive;
    int stopSignal = 0;          ///< stop signal of a stopped process
    bool compat = false;         ///< true for a 32-bit process; see task::isCompat()
    task::LabelModule labels{};  ///< security module of its threads' labels; see task::labelModule()
    bool hasRings = false;       ///< true if it has descriptors of io_uring
    /// Results of ring queries, by descriptor, for rings that accept only one thread.
    std::map<int, std::shared_ptr<const files::RingAnswers>> ringAnswers;
    HostPid parentThread;  ///< thread of the parent that created it; 0 is the main thread
    /// Objects that threads don't share with the main thread, in the order of process->threads(). Empty if all are
    /// shared.
    std::vector<model::ThreadObjects> objects;
    std::size_t pidLevel = 0;  ///< depth of the tree's pid namespace below criu's

    [[nodiscard]] HostPid pid() const noexcept { return HostPid(stat.pid); }
    /// Return pid, process group and session in the tree's pid namespace. Zero if that namespace doesn't contain the
    /// leader.
    [[nodiscard]] TreePid treePid() const noexcept { return atLevel(status.nsPid, stat.pid); }
    [[nodiscard]] TreePid group() const noexcept { return atLevel(status.nsPgid, stat.pgrp); }
    [[nodiscard]] TreePid session() const noexcept { return atLevel(status.nsSid, stat.session); }
    [[nodiscard]] bool alive() const noexcept { return process.has_value(); }
    /// Returns the inode of one namespace, or all of them as kernel::NamespaceIds. Each is read only once.
    [[nodiscard]] std::optional<std::uint32_t> namespaceOf(kernel::NamespaceKind kind);
    [[nodiscard]] kernel::NamespaceIds namespaces();
    /// Returns the objects that the thread at `index` doesn't share with the main thread; null if it shares all.
    [[nodiscard]] const model::ThreadObjects* objectsOf(std::size_t index) const noexcept;
    /// Returns "process 7 (sleep)" for messages.
    [[nodiscard]] std::string describe() const;

private:
    std::unique_ptr<kernel::CachedNamespaceIds> namespaces_;

    /// Selects the pid of the tree's namespace. /proc lists pids from criu's namespace down to the task's; none without
    /// CONFIG_PID_NS.
    [[nodiscard]] TreePid atLevel(const std::vector<pid_t>& nested, pid_t outside) const noexcept {
        return TreePid(pidLevel < nested.size() ? nested[pidLevel] : outside);
    }
};

/// A process tree with all threads frozen. The destructor resumes the tree unless it was killed.
class FrozenTree {
public:
    /// Makes an empty tree. `timeout` limits the time of the freeze; 0 means no limit.
    FrozenTree(std::chrono::seconds timeout, StopRequest& stop, Log& log);
    ~FrozenTree();
    FrozenTree(const FrozenTree&) = delete;
    FrozenTree& operator=(const FrozenTree&) = delete;

    /// Freezes `root` and all its descendants. Call it once. If the timeout passes, resumes all processes and throws
    /// Error. `group` is the path of a cgroup to freeze first, so that no process in it escapes by fork. Calls `before`
    /// once for each process, before either kind of freeze.
    void freeze(HostPid root, const std::optional<std::string>& group, const std::function<void(HostPid)>& before);

    /// Returns the freezer of the cgroup; null if none was given.
    [[nodiscard]] const cgroup::Freezer* freezer() const noexcept { return freezer_.get(); }
    [[nodiscard]] HostPid rootPid() const noexcept { return tasks_.front()->pid(); }

    /// Returns all processes, parents before children.
    [[nodiscard]] std::vector<std::unique_ptr<FrozenTask>>& tasks() noexcept { return tasks_; }
    /// Returns the pids of processes that aren't zombies.
    [[nodiscard]] std::vector<HostPid> livingPids() const;
    /// Returns the process with this pid; null if it isn't in the tree.
    [[nodiscard]] FrozenTask* find(HostPid pid) const noexcept;

    /// Returns true if seccomp filters are suspended, so that they let system calls of criu pass. The kernel refuses
    /// that if criu lacks CAP_SYS_ADMIN or runs under seccomp itself. Then criu must not inject calls into threads
    /// under seccomp.
    [[nodiscard]] bool seccompSuspended() const noexcept { return options_.seize.suspendSeccomp; }

    /// Returns the map between HostPid and TreePid. Complete after the freeze.
    [[nodiscard]] const model::TreePids& pids() const noexcept { return pids_; }

    /// Kills all processes. A cgroup that was frozen before the dump stays thawed, because it is empty now. Returns
    /// true if the root is init of criu's pid namespace. The root and all processes of that namespace then end only
    /// with the calling process.
    [[nodiscard]] bool kill();
    /// Resumes all processes; with `stopped` sends SIGSTOP first. Freezes a cgroup again that was frozen before the
    /// dump. Throws Error.
    void resume(bool stopped);
    /// Restores the state, frozen or thawed, that the cgroup had before the dump. Throws Error.
    void restoreGroup();

private:
    void addTree(HostPid root);
    bool addChildren(FrozenTask& parent);
    [[nodiscard]] bool isChildOfMember(const FrozenTask& task) const;
    void add(HostPid pid);
    void addAll();
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
    bool onlySeizing_ = false;  ///< true while the cgroup is frozen: seized threads can't reach their ptrace stop then
    std::vector<std::unique_ptr<FrozenTask>> tasks_;
    std::unordered_map<HostPid, FrozenTask*> known_;  ///< tasks_ by pid
    model::TreePids pids_;
    // destroyed first: the group is frozen again before its tasks are resumed
    std::unique_ptr<cgroup::Freezer> freezer_;
};

}  // namespace criu::engine
