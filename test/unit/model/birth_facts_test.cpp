// SPDX-License-Identifier: GPL-2.0-only
#include "criu/model/birth_facts.hpp"

#include <catch2/catch.hpp>

#include <memory>

#include "criu/base/error.hpp"

namespace criu::model {
namespace {

void add(ProcessTree& tree, pid_t pid, pid_t ppid, pid_t pgid, pid_t sid) {
    auto task = std::make_unique<Task>();
    task->pid = TreePid(pid);
    task->ppid = TreePid(ppid);
    task->pgid = TreePid(pgid);
    task->sid = TreePid(sid);
    tree.tasks.push_back(std::move(task));
}

BirthPlan planOf(const ProcessTree& tree, const ShellJobSession& outer) {
    return BirthPlan::make(birthFacts(tree, outer), outer.session);
}

/// Returns a tree with the init of a pid namespace, and a child that leads session 5.
ProcessTree treeWithSession5() {
    ProcessTree tree;
    add(tree, 1, 0, 1, 1);
    add(tree, 5, 1, 5, 5);
    add(tree, 6, 1, 5, 5);
    return tree;
}

}  // namespace

TEST_CASE("a session of the tree isn't taken for that of criu which has the same number in another pid namespace") {
    const ProcessTree tree = treeWithSession5();
    // If criu's session id counted, the root would be in session 5 before its setsid.
    const BirthPlan plan = planOf(tree, ShellJobSession::ownNamespace());
    CHECK(plan.root().beforeSession.empty());
    CHECK(plan.of(TreePid(5)).leadsSession);
    CHECK(plan.of(TreePid(6)).creator == TreePid(5));
}

TEST_CASE("a job that gets a pid namespace of its own doesn't ask for criu's process group by a number") {
    ProcessTree tree;
    add(tree, 1, 0, 0, 0);  // external leader of group and session
    add(tree, 2, 1, 2, 0);
    const BirthPlan plan = planOf(tree, ShellJobSession::ownNamespace());
    CHECK_FALSE(plan.root().leadsSession);
    CHECK(plan.root().pgid == TreePid());
    CHECK(plan.of(TreePid(2)).pgid == TreePid(2));
    CHECK(plan.helpers() == 0);
}

TEST_CASE("a job that is restored beside criu comes into its session and group") {
    ProcessTree tree;
    add(tree, 20, 0, 19, 18);
    add(tree, 21, 20, 21, 18);
    const BirthPlan plan = planOf(tree, ShellJobSession::sameNamespace(TreePid(7), TreePid(8)));
    CHECK_FALSE(plan.root().leadsSession);
    CHECK(plan.root().pgid == TreePid(8));
    CHECK(plan.of(TreePid(21)).pgid == TreePid(21));
}

TEST_CASE("a job is refused without --shell-job") {
    ProcessTree tree;
    add(tree, 20, 0, 19, 18);
    CHECK_THROWS_AS(requireOwnSession(tree), Error);
}

}  // namespace criu::model
