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

/// One process that a restore creates: a process of the images, or a helper. A helper lives until all processes have
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
    /// True if a helper creates the process and ends, so that the kernel reparents it to `parent`.
    bool reparented = false;
    std::vector<TreePid> beforeSession;  ///< children that it creates before its setsid(2), in the session of its birth
    /// Children that it creates in this order, after its setsid(2) if it calls setsid(2).
    std::vector<TreePid> afterSession;
};

/// Returns true if the thread `parentThread` itself must call clone3(2), because the process must be a child of this
/// thread.
[[nodiscard]] inline bool isOfThread(const Birth& birth) noexcept {
    return birth.parentThread && !birth.viaCloneParent && !birth.reparented;
}

/// Birth plan: defines which process clones which, so that each process gets its parent, session and group. The rules
/// of the kernel (copy_process()):
/// - A new process gets the session and group of its creator, also with CLONE_PARENT. It can leave the session only by
/// setsid(2).
/// - It is a child of the thread that clones it; with CLONE_PARENT, of the parent thread of that thread.
/// - The kernel reparents an orphan to the leader of a process. If only reparenting gives the right session, the
/// process becomes a child of another thread than in the images.
class BirthPlan {
public:
    /// Session whose leader is in another pid namespace, so that no process of the tree can lead it. It isn't 0,
    /// because 0 means any session.
    static constexpr TreePid kExternalSession{std::numeric_limits<pid_t>::min()};

    /// Makes the plan. In `processes`, the root is first, and parents come before their children. `outerSid` is criu's
    /// session: a root that doesn't lead a session is born into criu's session and stays in it. If the tree gets a
    /// private pid namespace, `outerSid` is kExternalSession.
    /// Throws Error that names a process whose session a restore can't create.
    static BirthPlan make(std::span<const BirthFacts> processes, TreePid outerSid);

    [[nodiscard]] const Birth& of(TreePid pid) const;
    [[nodiscard]] const Birth& root() const { return births_.front(); }
    [[nodiscard]] std::span<const Birth> all() const { return births_; }
    [[nodiscard]] std::size_t helpers() const;

    /// Returns the processes that take subreaper turns, in order. The turns begin when all processes are born. The
    /// kernel reparents an orphan to its nearest ancestor that is a child subreaper (prctl(2), PR_SET_CHILD_SUBREAPER;
    /// Linux 3.4).
    /// So each turn has exactly one subreaper. The deepest processes have the first turns, because an orphan that an
    /// ancestor further up gets must pass them in a later turn.
    [[nodiscard]] std::span<const TreePid> subreaperTurns() const { return subreaperTurns_; }
    /// Returns the number of the subreaper turn of a process; nullopt if it takes none.
    [[nodiscard]] std::optional<std::size_t> turnOf(TreePid adopter) const;
    /// Returns the subreaper turn in which a helper must end, so that the subreaper of this turn gets the helper's
    /// child. Returns nullopt for a helper without such a child. Such a helper may end after the turns of the helpers
    /// that it created.
    [[nodiscard]] std::optional<std::size_t> endOf(const Birth& helper) const;

private:
    std::vector<Birth> births_;
    std::unordered_map<TreePid, std::size_t> index_;
    std::vector<TreePid> subreaperTurns_;
};

}  // namespace criu::model
