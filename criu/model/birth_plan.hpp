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
    TreePid pgid;  ///< 0: the leader of the group was outside of the tree's pid namespace
    TreePid sid;
    TreePid parentThread{};  ///< the thread of `ppid` that has it as a child; 0: the leader
};

/// One process that a restore creates: a process of the images, or a helper. A helper lives until all processes have
/// joined their groups. It may have the pid of an ended session or group leader.
struct Birth {
    TreePid pid;           ///< negative: a helper with any pid
    TreePid parent;        ///< the final parent; 0 for the root
    TreePid parentThread;  ///< the thread of `parent` that has it as a child; 0: the leader
    TreePid creator;       ///< calls clone3(2); differs from `parent` with CLONE_PARENT or reparenting
    TreePid pgid;
    bool helper = false;
    bool leadsSession = false;           ///< calls setsid(2)
    bool viaCloneParent = false;         ///< a sibling creates it with CLONE_PARENT
    bool reparented = false;             ///< a helper creates it and ends, so the kernel reparents it to `parent`
    std::vector<TreePid> beforeSession;  ///< children it creates before its setsid(2), in its first session
    std::vector<TreePid> afterSession;   ///< children it creates after its setsid(2), in this order
};

/// True if the thread `parentThread` has to call clone3(2) itself, instead of the leader.
[[nodiscard]] inline bool isOfThread(const Birth& birth) noexcept {
    return birth.parentThread && !birth.viaCloneParent && !birth.reparented;
}

/// Birth plan: says which process clones which, so that each gets its parent, session and group. A new process gets
/// the session and group of its creator, also with CLONE_PARENT (copy_process()). It can leave the session only by
/// setsid(2). It is a child of the thread that clones it, or with CLONE_PARENT of that thread's parent. The kernel
/// reparents orphans to leaders. If sessions leave no way to a thread, a process becomes a child of another thread.
class BirthPlan {
public:
    /// Stands for a session whose leader is in another pid namespace, so that no process of the tree can lead it.
    /// Zero would mean any session.
    static constexpr TreePid kExternalSession{std::numeric_limits<pid_t>::min()};

    /// Makes the plan. `processes` has parents before children, the root first. `outerSid` is criu's session: a root
    /// that doesn't lead a session is born into it and stays there. It is kExternalSession if the tree gets its own
    /// pid namespace. Throws Error that names a process whose session can't be created.
    /// namespace of its own. Throws Error naming the process whose session can't be made.
    static BirthPlan make(std::span<const BirthFacts> processes, TreePid outerSid);

    [[nodiscard]] const Birth& of(TreePid pid) const;
    [[nodiscard]] const Birth& root() const { return births_.front(); }
    [[nodiscard]] std::span<const Birth> all() const { return births_; }
    [[nodiscard]] std::size_t helpers() const;

    /// Returns the processes that take subreaper turns, in order. Turns begin when all processes are born. The
    /// kernel reparents an orphan to its nearest ancestor that is a child subreaper (prctl(2),
    /// PR_SET_CHILD_SUBREAPER; Linux 3.4), so each turn has exactly one subreaper. The deepest ones come first: an
    /// orphan for an ancestor further up must pass them in a later turn.
    [[nodiscard]] std::span<const TreePid> subreaperTurns() const { return subreaperTurns_; }
    /// Returns the number of a process' subreaper turn; nothing if it has none.
    [[nodiscard]] std::optional<std::size_t> turnOf(TreePid adopter) const;
    /// Returns the subreaper turn in which a helper must end, so that the right process gets its child. Returns
    /// nothing for a helper without such a child: it may end after the turns of the helpers that it created.
    [[nodiscard]] std::optional<std::size_t> endOf(const Birth& helper) const;

private:
    std::vector<Birth> births_;
    std::unordered_map<TreePid, std::size_t> index_;
    std::vector<TreePid> subreaperTurns_;
};

}  // namespace criu::model
