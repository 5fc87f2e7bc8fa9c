// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <vector>

#include "criu/model/birth_plan.hpp"
#include "criu/model/process_tree.hpp"

namespace criu::model {

/// Shell job session: the session and process group of criu, which a shell job joins (--shell-job). The ids have the
/// form of ids in birth plans.
struct ShellJobSession {
    TreePid session;
    TreePid group;

    /// Returns the ids for a tree in criu's pid namespace, where a TreePid is equal to the HostPid.
    static ShellJobSession sameNamespace(TreePid session, TreePid group) { return {session, group}; }
    /// Returns the ids for a tree in a private pid namespace, where the kernel shows criu's session and group as 0
    /// (pid_namespaces(7)). kExternalSession avoids a conflict with a process of the tree that has criu's session id as
    /// pid.
    static ShellJobSession ownNamespace() { return {BirthPlan::kExternalSession, TreePid()}; }
};

/// Returns the input of the birth plan for a tree. If the root doesn't lead its session, the members of the root's
/// session and group join `outer`. In this case, throws Error if `shellJob` is false.
[[nodiscard]] std::vector<BirthFacts> birthFacts(const ProcessTree& tree, const ShellJobSession& outer, bool shellJob);

}  // namespace criu::model
