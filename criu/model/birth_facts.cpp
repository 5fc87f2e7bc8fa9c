// SPDX-License-Identifier: GPL-2.0-only
#include "criu/model/birth_facts.hpp"

#include <set>
#include <unordered_map>

#include "criu/base/error.hpp"
#include "criu/model/thread_plan.hpp"

namespace criu::model {

namespace {

bool isShellJob(const ProcessTree& tree) noexcept {
    return tree.root().sid != tree.root().pid;
}

}  // namespace

void requireOwnSession(const ProcessTree& tree) {
    if (!isShellJob(tree))
        return;
    Error error(0, fmt::format("process {} doesn't lead its session ({})", tree.root().pid, tree.root().sid));
    error.addHint("restore with --shell-job to put the tree into the session of criu");
    throw error;
}

std::vector<BirthFacts> birthFacts(const ProcessTree& tree, const ShellJobSession& outer) {
    const Task& root = tree.root();
    const bool isJob = isShellJob(tree);
    std::vector<BirthFacts> facts;
    // Threads that must exist before the children are created; the key is the process.
    std::unordered_map<TreePid, std::set<TreePid>> early;
    const auto isEarly = [&](const Task& parent, TreePid thread) {
        const auto [known, isNew] = early.try_emplace(parent.pid);
        if (isNew)
            known->second = earlyThreads(parent);
        return known->second.contains(thread);
    };
    for (const auto& task : tree.tasks) {
        BirthFacts fact{task->pid, task->ppid, task->pgid, task->sid};
        if (task->parentThread && isEarly(*task->parent, task->parentThread))
            fact.parentThread = task->parentThread;
        if (isJob && fact.sid == root.sid)
            fact.sid = outer.session;
        if (isJob && fact.pgid == root.pgid && root.pgid != root.pid)
            fact.pgid = outer.group;
        facts.push_back(fact);
    }
    return facts;
}

}  // namespace criu::model
