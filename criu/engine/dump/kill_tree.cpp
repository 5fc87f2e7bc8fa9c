// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/dump/kill_tree.hpp"

#include <sys/syscall.h>
#include <sys/wait.h>

#include <compel/error.hpp>
#include <compel/remote_syscalls.hpp>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <iterator>
#include <tuple>
#include <vector>

#include "criu/base/log.hpp"
#include "criu/base/thread_pool.hpp"
#include "criu/engine/dump/frozen_tree.hpp"
#include "criu/engine/dump/parallel_exit_mmap.hpp"

namespace criu::engine {
namespace {

/// The first process of the pid namespace that criu is in can't be killed by signals from inside, SIGKILL among them
/// (pid_namespaces(7)).
constexpr HostPid kInitPid(1);

/// How deep the pid namespace of a process is; the kernel tells nothing without CONFIG_PID_NS.
std::size_t levelOf(const FrozenTask& task) {
    return task.status.nsPid.size();
}

bool isFirst(const FrozenTask& task) {
    return levelOf(task) > 0 && task.status.nsPid.back() == 1;
}

/// The first process of a pid namespace ends when everybody else in there and deeper down has been reaped, so it comes
/// after all of these. A process that was put into one is reaped by its parent further up, which has to be there for
/// that, so children come before their parents. The root is last: whoever waits for it may rely on the others being
/// gone.
std::vector<FrozenTask*> inOrderOfEnds(FrozenTree& tree) {
    std::vector<FrozenTask*> order;
    for (auto task = tree.tasks().rbegin(); task != tree.tasks().rend(); ++task)
        if ((*task)->alive())
            order.push_back(task->get());
    std::stable_sort(order.begin(), order.end(), [](const FrozenTask* left, const FrozenTask* right) {
        return std::tuple(levelOf(*right), isFirst(*left)) < std::tuple(levelOf(*left), isFirst(*right));
    });
    return order;
}

/// A process that has ended, and was put into the pid namespace of others by a parent further up: that one waits for it
/// now, as it stands still. If it didn't, whoever adopts its children would have to, which is up to somebody outside.
void haveParentReap(FrozenTree& tree, const FrozenTask& ended, Log& log) {
    FrozenTask* const parent = tree.find(HostPid(ended.stat.ppid));
    if (parent == nullptr || !parent->alive() || levelOf(*parent) == 0 || levelOf(*parent) >= levelOf(ended))
        return;
    const pid_t number = ended.status.nsPid[levelOf(*parent) - 1];
    try {
        compel::RemoteSyscalls calls(parent->process->leader(), parent->process->syscallInstruction());
        const std::int64_t result = calls.call(SYS_wait4, number, 0, WNOHANG | __WALL, 0);
        if (result != number && result != -ECHILD)  // the kernel has reaped it if the parent ignores SIGCHLD
            log.warn("{} can't be made to wait for process {}: {}", parent->describe(), ended.pid(),
                     result == 0 ? "it hasn't ended" : std::strerror(static_cast<int>(-result)));
    } catch (const compel::Error& error) {
        log.warn("{} can't be made to wait for process {}: {}", parent->describe(), ended.pid(), error.what());
    }
}

void dieWithCriu(FrozenTask& task) {
    try {
        task.process->dieWithTracer();
    } catch (const compel::TraceeGone&) {
        return;  // somebody else has killed it
    }
}

void endFirst(FrozenTask& task, Log& log) {
    constexpr std::chrono::seconds kPatience{5};
    FrozenTask* const only = &task;
    killAndFreeMemory({&only, 1}, availableCores());
    if (!task.process->killFirst(kPatience))
        log.warn(
            "{} is the first of a pid namespace, and was killed. It ends, and its pid becomes free, only when "
            "processes "
            "from outside of the tree that have ended in there are waited for by their parents, which they aren't",
            task.describe());
}

/// Has processes end at the same time where nobody has to be there for the end of another: it takes a tenth of a dump
/// of many small ones to wait for each before the next is killed. The root stays, for whoever waits for it.
void beginEnds(FrozenTree& tree, const std::vector<FrozenTask*>& tasks) {
    const std::size_t level = levelOf(*tree.tasks().front());
    if (std::any_of(tasks.begin(), tasks.end(), [&](const FrozenTask* task) { return levelOf(*task) != level; }))
        return;
    for (FrozenTask* const task : tasks)
        if (task->pid() != tree.rootPid())
            task->process->beginKill();
}

}  // namespace

bool killTree(FrozenTree& tree, Log& log) {
    const std::vector<FrozenTask*> order = inOrderOfEnds(tree);
    std::vector<FrozenTask*> ordinary;
    // Killing takes long where memory is freed. If criu is killed meanwhile, no process outlives the others.
    for (FrozenTask* const task : order)
        dieWithCriu(*task);
    std::copy_if(order.begin(), order.end(), std::back_inserter(ordinary),
                 [](const FrozenTask* task) { return task->pid() != kInitPid && !isFirst(*task); });
    killAndFreeMemory(ordinary, availableCores());
    beginEnds(tree, ordinary);
    for (FrozenTask* const task : order) {
        if (task->pid() == kInitPid) {
            task->process->killAtExit();
        } else if (isFirst(*task)) {
            endFirst(*task, log);
        } else {
            task->process->kill();
            haveParentReap(tree, *task, log);
        }
    }
    return tree.rootPid() == kInitPid;
}

}  // namespace criu::engine
