// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <vector>

#include "criu/model/birth_plan.hpp"
#include "criu/model/process_tree.hpp"

namespace criu::model {

/// The session and the process group of criu, into which a job of a shell is restored (--shell-job), by the numbers
/// that plans use.
struct ShellJobSession {
    TreePid session;
    TreePid group;

    /// The tree is restored in criu's own pid namespace: numbers mean the same in both.
    static ShellJobSession sameNamespace(TreePid session, TreePid group) { return {session, group}; }
    /// The tree gets a pid namespace of its own. There the kernel shows session and group of criu as 0, whatever their
    /// numbers are outside (pid_namespaces(7)); a process of the tree may well have the same numbers.
    static ShellJobSession ownNamespace() { return {BirthPlan::kExternalSession, TreePid()}; }
};

/// What the plan of births needs to know of a tree. If its root doesn't lead its session, the members of that session,
/// and those of the root's group, come to `outer`; throws Error unless it is a `shellJob`.
[[nodiscard]] std::vector<BirthFacts> birthFacts(const ProcessTree& tree, const ShellJobSession& outer, bool shellJob);

}  // namespace criu::model
