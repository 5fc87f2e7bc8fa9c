// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/dump/tasks/nested_pids.hpp"

#include <algorithm>

#include "criu/base/error.hpp"
#include "criu/engine/dump/frozen_tree.hpp"
#include "criu/kernel/proc/proc_ns.hpp"
#include "criu/model/birth_plan.hpp"

namespace criu::engine {
namespace {

using model::NestedPids;

/// Reads the pids of all processes in nested pid namespaces, for the images.
class NestedLook {
public:
    explicit NestedLook(FrozenTree& tree) : tree_(tree) {}

    NestedPids run() {
        for (const auto& task : tree_.tasks())
            if (isBelow(*task))
                add(*task);
        return std::move(nested_);
    }

private:
    /// Returns true if the process is in a nested pid namespace.
    static bool isBelow(const FrozenTask& task) { return task.status.nsPid.size() > task.pidLevel + 1; }
    static bool isFirst(const FrozenTask& task) { return isBelow(task) && task.status.nsPid.back() == 1; }

    [[nodiscard]] FrozenTask& parentOf(const FrozenTask& task) const {
        FrozenTask* const parent = tree_.find(HostPid(task.stat.ppid));
        if (parent == nullptr)
            fail("the parent of {}, {}, isn't part of the tree", task.describe(), task.stat.ppid);
        return *parent;
    }

    void add(FrozenTask& task) {
        NestedPids::Space& space = spaceOf(task);
        noteAll(space, task, task.status);
        if (!task.alive())
            return;
        for (const compel::FrozenThread& thread : task.process->threads())
            if (const HostPid tid(thread.tracee.tid()); tid != task.pid())
                noteOne(space, tree_.pids().inside(tid), kernel::readThreadStatus(task.dir, tid.value, buffer_).nsPid,
                        task.pidLevel);
    }

    /// Returns the pid namespace of a process in a nested namespace. Throws Error for a zombie that isn't in its
    /// parent's pid namespace.
    NestedPids::Space& spaceOf(FrozenTask& task) {
        if (task.alive()) {
            const auto inode = task.namespaceOf(kernel::NamespaceKind::Pid);
            if (!inode)
                fail("{} has no pid namespace", task.describe());
            return spaceWith(*inode, task);
        }
        // The kernel doesn't show the pid namespace of a zombie, so criu uses the pid namespace of its parent.
        FrozenTask& parent = parentOf(task);
        if (task.status.nsPid.size() == parent.status.nsPid.size())
            return spaceOf(parent);
        Error error(0, isFirst(task) ? fmt::format("{} has ended, and with it the pid namespace that it was the first "
                                                   "process of",
                                                   task.describe())
                                     : fmt::format("{} has ended, in a pid namespace that it was put into from another "
                                                   "one (setns(2))",
                                                   task.describe()));
        error.addHint(fmt::format("its parent, process {}, has to wait for it first", task.stat.ppid));
        throw error;
    }

    /// Returns the pid namespace with this inode number. `member`: process in this namespace.
    NestedPids::Space& spaceWith(std::uint32_t inode, const FrozenTask& member) {
        if (NestedPids::Space* const known = nested_.find(inode))
            return *known;
        const auto& tasks = tree_.tasks();
        const auto first = std::find_if(tasks.begin(), tasks.end(), [&](const auto& one) {
            return isFirst(*one) && one->alive() && one->namespaceOf(kernel::NamespaceKind::Pid) == inode;
        });
        if (first == tasks.end())
            fail("the first process of the pid namespace of {} isn't part of the tree", member.describe());
        FrozenTask& parent = parentOf(**first);
        if ((*first)->status.nsPid.size() != parent.status.nsPid.size() + 1)
            fail("{} isn't in the pid namespace above that of its child, {}", parent.describe(), (*first)->describe());
        return nested_.add(inode, isBelow(parent) ? &spaceOf(parent) : nullptr);
    }

    void noteAll(NestedPids::Space& space, const FrozenTask& task, const kernel::TaskStatus& status) {
        noteOne(space, task.treePid(), status.nsPid, task.pidLevel);
        noteOne(space, task.group(), status.nsPgid, task.pidLevel);
        noteOne(space, task.session(), status.nsSid, task.pidLevel);
    }

    /// Records the pids of one task, group or session in `space` and in the namespaces above. `who`: its TreePid.
    /// `numbers`: its pids in /proc/PID/status, from criu's namespace down to `space`.
    void noteOne(NestedPids::Space& space, TreePid who, const std::vector<pid_t>& numbers, std::size_t level) {
        if (!who)
            return;
        for (const NestedPids::Space* at = &space; at != nullptr; at = at->parent)
            if (const pid_t number = numbers.at(level + at->depth); number != 0)
                nested_.note(*nested_.find(at->id), who, number);
    }

    FrozenTree& tree_;
    NestedPids nested_;
    kernel::ProcBuffer buffer_;
};

}  // namespace

NestedPids seenNestedPids(FrozenTree& tree) {
    return NestedLook(tree).run();
}

void requireBirths(FrozenTree& tree) {
    const ErrorContext context([] { return "a restore couldn't create the processes with their sessions and groups"; });
    const model::TreePids& pids = tree.pids();
    const auto& tasks = tree.tasks();
    const FrozenTask& root = *tasks.front();
    std::vector<model::BirthFacts> facts;
    for (const auto& task : tasks)
        facts.push_back({task->treePid(), task == tasks.front() ? TreePid() : pids.inside(HostPid(task->stat.ppid)),
                         task->group(), task->session()});
    const bool isJob = root.session() && root.session() != root.treePid();
    pids.nested().require(model::BirthPlan::make(facts, isJob ? root.session() : model::BirthPlan::kExternalSession));
}

}  // namespace criu::engine
