// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <vector>

#include "criu/model/birth_plan.hpp"
#include "criu/model/process_tree.hpp"

namespace criu::model {

/// Shell job session: session and process group of criu, which a shell job joins (--shell-job). Ids are those of
/// birth plans.
struct ShellJobSession {
    TreePid session;
    TreePid group;

    /// For a tree in criu's pid namespace, where ids are the same for both.
    static ShellJobSession sameNamespace(TreePid session, TreePid group) { return {session, group}; }
    /// For a tree in its own pid namespace. There the kernel shows criu's session and group as 0
    /// (pid_namespaces(7)), and a process of the tree may have the same ids.
    static ShellJobSession ownNamespace() { return {BirthPlan::kExternalSession, TreePid()}; }
};

/// Returns the input of the birth plan for a tree. If the root doesn't lead its session, members of its session and
/// group join `outer`. Throws Error then unless `shellJob` is set.
[[nodiscard]] std::vector<BirthFacts> birthFacts(const ProcessTree& tree, const ShellJobSession& outer, bool shellJob);

}  // namespace criu::model
