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

/// A process of the tree that is dumped.
struct FrozenTask {
    explicit FrozenTask(kernel::ProcPid directory);
    ~FrozenTask();
    FrozenTask(const FrozenTask&) = delete;
    FrozenTask& operator=(const FrozenTask&) = delete;

    kernel::ProcPid dir;
    kernel::TaskStat stat;
    kernel::TaskStatus status;
    std::optional<compel::FrozenProcess> process;  ///< none for a zombie
    model::TaskState state = model::TaskState::Alive;
    int stopSignal = 0;          ///< of a stopped process
    bool compat = false;         ///< a 32-bit process, see task::isCompat()
    task::LabelModule labels{};  ///< whose labels its threads have, see task::labelModule()
    bool hasRings = false;       ///< has descriptors of io_uring
    /// By descriptors of rings that answer one thread only.
    std::map<int, std::shared_ptr<const files::RingAnswers>> ringAnswers;
    HostPid parentThread;  ///< the thread of its parent that it is a child of; 0: the leader
    /// What threads have apart from the leader, in the order of process->threads(); empty: nothing.
    std::vector<model::ThreadObjects> objects;
    std::size_t pidLevel = 0;  ///< how deep the pid namespace of the tree's root is below criu's

    [[nodiscard]] HostPid pid() const noexcept { return HostPid(stat.pid); }
    /// Itself, its process group and its session, as the tree calls them. Zero: the pid namespace of the tree doesn't
    /// see it.
    [[nodiscard]] TreePid treePid() const noexcept { return atLevel(status.nsPid, stat.pid); }
    [[nodiscard]] TreePid group() const noexcept { return atLevel(status.nsPgid, stat.pgrp); }
    [[nodiscard]] TreePid session() const noexcept { return atLevel(status.nsSid, stat.session); }
    [[nodiscard]] bool alive() const noexcept { return process.has_value(); }
    /// The inode of one of its namespaces, as kernel::NamespaceIds has it, and all of them; each is read once only.
    [[nodiscard]] std::optional<std::uint32_t> namespaceOf(kernel::NamespaceKind kind);
    [[nodiscard]] kernel::NamespaceIds namespaces();
    /// What the thread at `index` has apart from the leader; null: nothing.
    [[nodiscard]] const model::ThreadObjects* objectsOf(std::size_t index) const noexcept;
    /// "process 7 (sleep)", for messages.
    [[nodiscard]] std::string describe() const;

private:
    std::unique_ptr<kernel::CachedNamespaceIds> namespaces_;

    /// /proc lists the numbers in all pid namespaces from criu's to the task's own; none without CONFIG_PID_NS.
    [[nodiscard]] TreePid atLevel(const std::vector<pid_t>& nested, pid_t outside) const noexcept {
        return TreePid(pidLevel < nested.size() ? nested[pidLevel] : outside);
    }
};

/// A process tree whose every thread stands still. Unless it is killed, destruction lets all go on as they were.
class FrozenTree {
public:
    /// Nobody yet. `timeout`: how long freezing may take (0: no limit).
    FrozenTree(std::chrono::seconds timeout, StopRequest& stop, Log& log);
    ~FrozenTree();
    FrozenTree(const FrozenTree&) = delete;
    FrozenTree& operator=(const FrozenTree&) = delete;

    /// Stops `root` and all its descendants, once only; throws Error, with everybody running again, when that takes too
    /// long. `group`: path of a cgroup to be frozen meanwhile, so that nobody in it escapes by forking. `before` is
    /// called once for each process that is going to be stopped, by either means.
    void freeze(HostPid root, const std::optional<std::string>& group, const std::function<void(HostPid)>& before);

    /// The cgroup that was frozen; null if there was none.
    [[nodiscard]] const cgroup::Freezer* freezer() const noexcept { return freezer_.get(); }
    [[nodiscard]] HostPid rootPid() const noexcept { return tasks_.front()->pid(); }

    /// Parents before children.
    [[nodiscard]] std::vector<std::unique_ptr<FrozenTask>>& tasks() noexcept { return tasks_; }
    /// Of the processes that are alive.
    [[nodiscard]] std::vector<HostPid> livingPids() const;
    /// One of them; null if it isn't part of the tree.
    [[nodiscard]] FrozenTask* find(HostPid pid) const noexcept;

    /// Seccomp lets system calls pass that criu makes in the processes. It doesn't when criu lacks CAP_SYS_ADMIN or
    /// runs under seccomp itself; then threads under seccomp must be left alone.
    [[nodiscard]] bool seccompSuspended() const noexcept { return options_.seize.suspendSeccomp; }

    /// How the tree calls those that criu sees. Complete when all are frozen.
    [[nodiscard]] const model::TreePids& pids() const noexcept { return pids_; }

    /// Ends all processes. A cgroup that was frozen before the dump stays thawed: nobody is left in it. Returns whether
    /// the root, and with it whoever is in its pid namespace, ends only when the calling process does, which traces it.
    [[nodiscard]] bool kill();
    /// Resumes all; with `stopped` they are sent SIGSTOP first. Before that a cgroup that was frozen before the dump is
    /// frozen again. Throws Error.
    void resume(bool stopped);
    /// A cgroup that was frozen, or thawed, for the dump is as it was before. Throws Error.
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
    std::function<void(HostPid)> before_;  ///< while freezing
    bool onlySeizing_ = false;             ///< nobody can run, so nobody can be waited for
    std::vector<std::unique_ptr<FrozenTask>> tasks_;
    std::unordered_map<HostPid, FrozenTask*> known_;  ///< of them
    model::TreePids pids_;
    std::unique_ptr<cgroup::Freezer> freezer_;  // a group that was frozen is frozen again before its tasks are resumed
};

}  // namespace criu::engine
