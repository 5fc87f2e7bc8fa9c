// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/nested_pids.hpp"

#include <unordered_map>

#include "criu/base/error.hpp"
#include "criu/engine/frozen_tree.hpp"
#include "criu/kernel/nslinks.hpp"
#include "criu/model/birth_plan.hpp"

namespace criu::engine {
namespace {

using model::NestedPids;

/// Looks at processes, parents before children, and notes who is called how in which namespace.
class NestedLook {
public:
    explicit NestedLook(FrozenTree& tree) : tree_(tree) {}

    NestedPids run() {
        for (const auto& task : tree_.tasks())
            if (task->status.nsPid.size() > task->pidLevel + 1)
                add(*task);
        return std::move(nested_);
    }

private:
    [[nodiscard]] const FrozenTask& parentOf(const FrozenTask& task) const {
        const FrozenTask* const parent = tree_.find(HostPid(task.stat.ppid));
        if (parent == nullptr)
            fail("the parent of {}, {}, isn't part of the tree", task.describe(), task.stat.ppid);
        return *parent;
    }

    void add(FrozenTask& task) {
        NestedPids::Space& space = spaceOf(task, parentOf(task));
        noteAll(space, task, task.status);
        if (!task.alive())
            return;
        for (const compel::FrozenThread& thread : task.process->threads())
            if (const HostPid tid(thread.tracee.tid()); tid != task.pid())
                noteOne(space, tree_.pids().inside(tid), kernel::readThreadStatus(task.dir, tid.value, buffer_).nsPid,
                        task.pidLevel);
    }

    /// The kernel leaves two ways into a pid namespace: to be its first process, whose parent is in the one above, and
    /// to be created by somebody who has it for children; only setns(2) makes that another than one's own or a new one.
    NestedPids::Space& spaceOf(FrozenTask& task, const FrozenTask& parent) {
        const std::size_t depth = task.status.nsPid.size();
        const std::size_t above = parent.status.nsPid.size();
        NestedPids::Space* const ofParent = nested_.find(inodes_[parent.pid()]);
        if (depth == above) {
            inodes_[task.pid()] = inodes_[parent.pid()];
            const bool same = !task.alive() || task.namespaceOf(kernel::NamespaceKind::Pid) == ofParent->id;
            if (same)
                return *ofParent;
        }
        if (depth != above + 1 || task.status.nsPid.back() != 1)
            fail("{} was put into its pid namespace from another one (setns(2)), which can't be dumped yet",
                 task.describe());
        if (!task.alive()) {
            Error error(0, fmt::format("{} has ended, and with it the pid namespace that it was the first process of",
                                       task.describe()));
            error.addHint(fmt::format("its parent, process {}, has to wait for it first", task.stat.ppid));
            throw error;
        }
        const auto inode = task.namespaceOf(kernel::NamespaceKind::Pid);
        if (!inode)
            fail("{} has no pid namespace", task.describe());
        inodes_[task.pid()] = *inode;
        return nested_.add(*inode, ofParent);
    }

    void noteAll(NestedPids::Space& space, const FrozenTask& task, const kernel::TaskStatus& status) {
        noteOne(space, task.treePid(), status.nsPid, task.pidLevel);
        noteOne(space, task.group(), status.nsPgid, task.pidLevel);
        noteOne(space, task.session(), status.nsSid, task.pidLevel);
    }

    /// `numbers`: as /proc/PID/status lists them for somebody in `space`, from criu's namespace down.
    void noteOne(NestedPids::Space& space, TreePid who, const std::vector<pid_t>& numbers, std::size_t level) {
        if (!who)
            return;
        for (const NestedPids::Space* at = &space; at != nullptr; at = at->parent)
            if (const pid_t number = numbers.at(level + at->depth); number != 0)
                nested_.note(*nested_.find(at->id), who, number);
    }

    FrozenTree& tree_;
    NestedPids nested_;
    std::unordered_map<HostPid, std::uint32_t> inodes_;  ///< of the namespaces of processes in further ones
    kernel::ProcBuffer buffer_;
};

}  // namespace

NestedPids seenNestedPids(FrozenTree& tree) {
    return NestedLook(tree).run();
}

void requireNestedBirths(FrozenTree& tree) {
    const model::TreePids& pids = tree.pids();
    if (pids.nested().empty())
        return;
    const auto& tasks = tree.tasks();
    const FrozenTask& root = *tasks.front();
    std::vector<model::BirthFacts> facts;
    for (const auto& task : tasks)
        facts.push_back({task->treePid(), task == tasks.front() ? TreePid() : pids.inside(HostPid(task->stat.ppid)),
                         task->group(), task->session()});
    const bool isJob = root.session() && root.session() != root.treePid();
    pids.nested().require(model::BirthPlan::make(facts, isJob ? root.session() : model::BirthPlan::kOutsideSession));
}

}  // namespace criu::engine
