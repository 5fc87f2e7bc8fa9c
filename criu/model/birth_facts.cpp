// SPDX-License-Identifier: GPL-2.0-only
#include "criu/model/birth_facts.hpp"

#include "criu/base/error.hpp"

namespace criu::model {

std::vector<BirthFacts> birthFacts(const ProcessTree& tree, const ShellJobSession& outer, bool shellJob) {
    const Task& root = tree.root();
    const bool isJob = root.sid != root.pid;
    if (isJob && !shellJob) {
        Error error(0, fmt::format("process {} doesn't lead its session ({})", root.pid, root.sid));
        error.addHint("restore with --shell-job to put the tree into the session of criu");
        throw error;
    }
    std::vector<BirthFacts> facts;
    for (const auto& task : tree.tasks) {
        BirthFacts fact{task->pid, task->ppid, task->pgid, task->sid};
        if (isJob && fact.sid == root.sid)
            fact.sid = outer.session;
        if (isJob && fact.pgid == root.pgid && root.pgid != root.pid)
            fact.pgid = outer.group;
        facts.push_back(fact);
    }
    return facts;
}

}  // namespace criu::model
