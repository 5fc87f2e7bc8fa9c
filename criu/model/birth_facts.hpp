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

    /// Returns the ids for a tree in criu's pid namespace. In this namespace, a TreePid equals the HostPid.
    static ShellJobSession sameNamespace(TreePid session, TreePid group) { return {session, group}; }
    /// Returns the ids for a tree in a private pid namespace. There, the kernel shows criu's session and group as 0
    /// (pid_namespaces(7)). kExternalSession stands for criu's session, because criu's session id may be the pid of a
    /// process in the tree.
    static ShellJobSession ownNamespace() { return {BirthPlan::kExternalSession, TreePid()}; }
};

/// Throws Error if the root doesn't lead its session. Such a tree needs --shell-job.
void requireOwnSession(const ProcessTree& tree);

/// Returns the input of the birth plan for a tree. If the root doesn't lead its session, the members of the root's
/// session and group join `outer`.
[[nodiscard]] std::vector<BirthFacts> birthFacts(const ProcessTree& tree, const ShellJobSession& outer);

}  // namespace criu::model
