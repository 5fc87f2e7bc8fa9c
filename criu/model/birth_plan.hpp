// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "criu/base/ids.hpp"

namespace criu::model {

/// Input of the birth plan for one process of the images.
struct BirthFacts {
    TreePid pid;
    TreePid ppid;  ///< 0 for the root
    TreePid pgid;  ///< 0 if the leader of the group was outside of the tree's pid namespace
    TreePid sid;
    TreePid parentThread{};  ///< thread of `ppid` whose child the process is; 0 if it is the leader
};

/// Process that a restore creates: a process of the images, or a helper. A helper exists until all processes have
/// joined their groups. It may have the pid of a session or group leader that has ended.
struct Birth {
    TreePid pid;           ///< negative for a helper that may have any pid
    TreePid parent;        ///< parent after all reparenting; 0 for the root
    TreePid parentThread;  ///< thread of `parent` whose child the process is; 0 if it is the leader
    TreePid creator;       ///< process that calls clone3(2); differs from `parent` with CLONE_PARENT or reparenting
    TreePid pgid;
    bool helper = false;
    bool leadsSession = false;    ///< true if the process calls setsid(2)
    bool viaCloneParent = false;  ///< true if a sibling creates the process with CLONE_PARENT
    /// True if a helper creates the process and then ends, so that the kernel reparents the process to `parent`.
    bool reparented = false;
    /// Children that the process creates before its setsid(2), in the session into which it was born.
    std::vector<TreePid> beforeSession;
    /// Children that the process creates in this order. If it calls setsid(2), it creates them afterwards.
    std::vector<TreePid> afterSession;
};

/// Returns true if the thread `parentThread` itself must call clone3(2), because only then the process becomes a child
/// of this thread.
[[nodiscard]] inline bool isOfThread(const Birth& birth) noexcept {
    return birth.parentThread && !birth.viaCloneParent && !birth.reparented;
}

/// Birth plan: determines which process clones which, so that each process gets its parent, session and group. The
/// rules of the kernel (copy_process()):
/// - A new process gets the session and group of its creator, even with CLONE_PARENT. It can leave the session only by
///   setsid(2).
/// - A new process is a child of the thread that clones it. With CLONE_PARENT, it is a child of the parent thread of
///   that thread.
/// - The kernel makes an orphan a child of the leader of its new parent process. If only reparenting gives the right
///   session, the process becomes a child of another thread than in the images.
class BirthPlan {
public:
    /// Session whose leader is in another pid namespace, so that no process of the tree can lead it. It isn't 0,
    /// because 0 means any session.
    static constexpr TreePid kExternalSession{std::numeric_limits<pid_t>::min()};

    /// Makes the plan. In `processes`, the root is first, and parents come before their children. `outerSid`: criu's
    /// session; if the tree gets a private pid namespace, kExternalSession. A root that doesn't lead a session is born
    /// into this session and stays in it. Throws Error that names a process whose session a restore can't create.
    static BirthPlan make(std::span<const BirthFacts> processes, TreePid outerSid);

    [[nodiscard]] const Birth& of(TreePid pid) const;
    [[nodiscard]] const Birth& root() const { return births_.front(); }
    [[nodiscard]] std::span<const Birth> all() const { return births_; }
    [[nodiscard]] std::size_t helpers() const;

    /// Returns the processes that take subreaper turns, in order. The turns begin when all processes are born. The
    /// kernel reparents an orphan to its nearest ancestor that is a child subreaper (prctl(2), PR_SET_CHILD_SUBREAPER;
    /// Linux 3.4). So each turn has exactly one subreaper. The deepest processes have the first turns: an orphan for an
    /// ancestor further up must pass them in a later turn.
    [[nodiscard]] std::span<const TreePid> subreaperTurns() const { return subreaperTurns_; }
    /// Returns the number of the subreaper turn of a process; nullopt if it takes none.
    [[nodiscard]] std::optional<std::size_t> turnOf(TreePid adopter) const;
    /// Returns the subreaper turn in which a helper must end, so that the subreaper of this turn gets the helper's
    /// child. Returns nullopt for a helper without such a child. It may end after the turns of the helpers that it
    /// created.
    [[nodiscard]] std::optional<std::size_t> endOf(const Birth& helper) const;

private:
    std::vector<Birth> births_;
    std::unordered_map<TreePid, std::size_t> index_;
    std::vector<TreePid> subreaperTurns_;
};

}  // namespace criu::model
