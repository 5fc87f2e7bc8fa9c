// SPDX-License-Identifier: GPL-2.0-only
#include "criu/model/thread_plan.hpp"

#include <map>
#include <set>
#include <utility>

#include "criu/base/error.hpp"
#include "criu/model/process_tree.hpp"
#include "images/core.hpp"

namespace criu::model {
namespace {

/// Planner of the creation of threads. It visits the sets of objects in an order in which each set has one object in
/// common with an earlier set. The first thread of a set creates all other threads with the same set.
class ThreadPlanner {
public:
    ThreadPlanner(std::span<const ThreadObjects> threads, const std::set<std::size_t>& early) : threads_(threads) {
        for (std::size_t i = 0; i < threads.size(); ++i)
            if (i == 0 || early.contains(i))
                sets_[threads[i]].push_back(i);
        for (std::size_t i = 1; i < threads.size(); ++i)
            if (!early.contains(i))
                sets_[threads[i]].push_back(i);
        for (const auto& [objects, members] : sets_) {
            byFs_[objects.fs].push_back(objects);
            bySysvsem_[objects.sysvsem].push_back(objects);
        }
    }

    std::vector<ThreadBirth> run() {
        // Begins with the set of the leader, whose objects have the number 0.
        for (const auto& [first, members] : sets_) {
            begin(first, threads_.front());
            for (; next_ < order_.size(); ++next_)
                visit(order_[next_]);
        }
        return std::move(births_);
    }

private:
    void visit(ThreadObjects creator) {
        for (const ThreadObjects& objects : std::exchange(byFs_[creator.fs], {}))
            begin(objects, creator);
        for (const ThreadObjects& objects : std::exchange(bySysvsem_[creator.sysvsem], {}))
            begin(objects, creator);
    }

    void begin(const ThreadObjects& objects, const ThreadObjects& creator) {
        if (!begun_.insert(objects).second)
            return;
        const std::vector<std::size_t>& members = sets_.at(objects);
        const bool newFs = fs_.insert(objects.fs).second;
        const bool newSysvsem = sysvsem_.insert(objects.sysvsem).second;
        const ThreadBirth birth{members.front(), sets_.at(creator).front(), objects.fs != creator.fs,
                                objects.sysvsem != creator.sysvsem};
        if ((birth.unsharesFs && !newFs) || (birth.unsharesSysvsem && !newSysvsem))
            fail(
                "a thread shares its working directory (CLONE_FS) with one thread and its semaphore adjustments "
                "(CLONE_SYSVSEM) with another, which can't be restored");
        order_.push_back(objects);
        if (birth.thread != 0)
            births_.push_back(birth);
        for (std::size_t i = 1; i < members.size(); ++i)
            births_.push_back({members[i], members.front()});
    }

    std::span<const ThreadObjects> threads_;
    std::map<ThreadObjects, std::vector<std::size_t>> sets_;  ///< threads by the set of objects that they have
    std::map<std::uint32_t, std::vector<ThreadObjects>> byFs_;
    std::map<std::uint32_t, std::vector<ThreadObjects>> bySysvsem_;
    std::set<ThreadObjects> begun_;
    std::set<std::uint32_t> fs_;  ///< fs objects of threads that are already planned
    std::set<std::uint32_t> sysvsem_;
    std::vector<ThreadObjects> order_;
    std::size_t next_ = 0;
    std::vector<ThreadBirth> births_;
};

}  // namespace

std::vector<ThreadObjects> objectsOf(const Task& task) {
    std::vector<ThreadObjects> all;
    if (!task.alive())
        return all;
    for (const Thread& thread : task.threads) {
        const ThreadCoreEntry& own = *(*thread.core)->thread_core;
        all.push_back({own.has_fs_id != 0 ? own.fs_id : 0, own.has_sysvsem_id != 0 ? own.sysvsem_id : 0});
    }
    return all;
}

void requireObjects(const Task& task) {
    const std::vector<ThreadObjects> objects = objectsOf(task);
    if (objects.front() != ThreadObjects())
        fail("thread {}, which leads process {}, has objects apart from itself", task.threads.front().tid, task.pid);
    for (std::size_t i = 0; i < objects.size(); ++i)
        if (objects[i].fs != 0 && (*task.threads[i].core)->thread_core->fs == nullptr)
            fail("the core image of thread {} has no directories", task.threads[i].tid);
    (void)planThreads(objects);
}

std::vector<ThreadBirth> planThreads(std::span<const ThreadObjects> threads, const std::set<std::size_t>& early) {
    return ThreadPlanner(threads, early).run();
}

std::set<TreePid> earlyThreads(const Task& task) {
    std::set<TreePid> found;
    // No thread is early if the process has another pid namespace for children: it enters this namespace as its last
    // step, and creates its threads before.
    if (!task.alive() || task.lateThreads || !task.ids || (*task.ids)->has_pid_for_children_ns_id != 0)
        return found;
    std::set<TreePid> parents;
    for (const Task* const child : task.children)
        if (child->parentThread)
            parents.insert(child->parentThread);
    if (parents.empty())
        return found;
    std::set<std::size_t> wanted;
    for (std::size_t i = 1; i < task.threads.size(); ++i)
        if (parents.contains(task.threads[i].tid))
            wanted.insert(i);
    for (const ThreadBirth& birth : planThreads(objectsOf(task), wanted))
        if (birth.creator == 0 && wanted.contains(birth.thread))
            found.insert(task.threads[birth.thread].tid);
    return found;
}

}  // namespace criu::model
