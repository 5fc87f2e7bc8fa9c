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

/// What the plan needs to know of one process of the image.
struct BirthFacts {
    TreePid pid;
    TreePid ppid;  ///< 0 for the root
    TreePid pgid;  ///< 0: the group's leader was outside of the tree's pid namespace
    TreePid sid;
};

/// One process that a restore creates: a process of the image, or a helper that lives only until all process
/// groups are joined (it carries the pid of a session or group leader that is gone).
struct Birth {
    TreePid pid;      ///< negative: a helper whose pid doesn't matter
    TreePid parent;   ///< whose child it is afterwards; 0 for the root
    TreePid creator;  ///< who calls clone; differs from `parent` where CLONE_PARENT or adoption is needed
    TreePid pgid;
    bool helper = false;
    bool leadsSession = false;           ///< calls setsid itself
    bool viaCloneParent = false;         ///< created by a sibling with CLONE_PARENT
    bool reparented = false;             ///< created by a helper whose end hands it to `parent`
    std::vector<TreePid> beforeSession;  ///< created by it before its setsid: they stay in the session it was born in
    std::vector<TreePid> afterSession;   ///< created by it afterwards, in this order
};

/// Who clones whom, so that everybody ends up with the right parent and session. Kernel rules behind it: a process is
/// born into the session and group of the one that clones it (with CLONE_PARENT too) and can only leave for a session
/// of its own.
class BirthPlan {
public:
    /// Stands for a session that no process of the tree can lead, because its leader is in another pid namespace. Zero
    /// would mean any session.
    static constexpr TreePid kExternalSession{std::numeric_limits<pid_t>::min()};

    /// `processes`: parents before children, root first. `outerSid`: the session that the restoring criu is in, which
    /// the root is born into and stays in if it doesn't lead a session; kExternalSession if the tree gets a pid
    /// namespace of its own. Throws Error naming the process whose session can't be made.
    static BirthPlan make(std::span<const BirthFacts> processes, TreePid outerSid);

    [[nodiscard]] const Birth& of(TreePid pid) const;
    [[nodiscard]] const Birth& root() const { return births_.front(); }
    [[nodiscard]] std::span<const Birth> all() const { return births_; }
    [[nodiscard]] std::size_t helpers() const;

    /// The processes that adopt orphans, in the order of their turns, which begin when all processes are born. An
    /// orphan goes to its nearest ancestor that is a child subreaper (prctl(2), PR_SET_CHILD_SUBREAPER; Linux 3.4), so
    /// in each turn exactly one process is one. The deepest adopters have their turns first: an orphan that has to go
    /// past one of them, to an adopter further up, does so in a later turn, in which the first is no subreaper any
    /// more.
    [[nodiscard]] std::span<const TreePid> subreaperTurns() const { return subreaperTurns_; }
    /// The number of a process' turn; nothing for those that don't adopt.
    [[nodiscard]] std::optional<std::size_t> turnOf(TreePid adopter) const;
    /// The turn in which a helper has to end, so that its child is adopted by whoever has that turn. Nothing: no child
    /// of it is to be adopted, and it may end when the turns of the helpers that it created are over.
    [[nodiscard]] std::optional<std::size_t> endOf(const Birth& helper) const;

private:
    std::vector<Birth> births_;
    std::unordered_map<TreePid, std::size_t> index_;
    std::vector<TreePid> subreaperTurns_;
};

}  // namespace criu::model
