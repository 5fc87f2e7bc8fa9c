// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/dump/kill_tree.hpp"

#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <compel/error.hpp>
#include <compel/remote_syscalls.hpp>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <iterator>
#include <tuple>
#include <vector>

#include "criu/base/error.hpp"
#include "criu/base/log.hpp"
#include "criu/base/thread_pool.hpp"
#include "criu/engine/dump/frozen_tree.hpp"
#include "criu/engine/dump/parallel_exit_mmap.hpp"
#include "criu/kernel/namespace_visit.hpp"
#include "criu/kernel/simultaneous_kill.hpp"

namespace criu::engine {
namespace {

/// Pid of init in criu's pid namespace. The kernel ignores signals that processes of the namespace send to init, even
/// SIGKILL (pid_namespaces(7)).
constexpr HostPid kInitPid(1);

/// Returns the depth of a process' pid namespace; 0 without CONFIG_PID_NS.
std::size_t levelOf(const FrozenTask& task) {
    return task.status.nsPid.size();
}

bool isFirst(const FrozenTask& task) {
    return levelOf(task) > 0 && task.status.nsPid.back() == 1;
}

/// Returns the processes in the order in which criu kills them. Init of a pid namespace comes after all processes in
/// this namespace and below, because it can end only when all of them have been reaped. Children come before parents.
/// The root comes last: an outside process that waits for the root may rely on the end of all other processes.
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

/// Makes the frozen parent reap its child `ended`, which is in a lower pid namespace. If the parent didn't, init of
/// that namespace couldn't end until a process outside of the tree reaps the child.
void haveParentReap(FrozenTree& tree, const FrozenTask& ended, Log& log) {
    FrozenTask* const parent = tree.find(HostPid(ended.stat.ppid));
    if (parent == nullptr || !parent->alive() || levelOf(*parent) == 0 || levelOf(*parent) >= levelOf(ended))
        return;
    const pid_t number = ended.status.nsPid[levelOf(*parent) - 1];
    try {
        compel::RemoteSyscalls calls(parent->process->leader(), parent->process->syscallInstruction());
        const std::int64_t result = calls.call(SYS_wait4, number, 0, WNOHANG | __WALL, 0);
        // ECHILD: the parent ignores SIGCHLD, so that the kernel itself has reaped the child
        if (result != number && result != -ECHILD)
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
        return;  // another process has killed it
    }
}

void endFirst(FrozenTask& task, Log& log) {
    constexpr std::chrono::seconds kPatience{5};
    FrozenTask* const only = &task;
    ParallelExitMmap memory({&only, 1}, availableCores());
    task.process->beginKill();
    memory.freeMemory();
    if (!task.process->killFirst(kPatience))
        log.warn(
            "{} is the first of a pid namespace, and was killed. It ends, and its pid becomes free, only when "
            "processes "
            "from outside of the tree that have ended in there are waited for by their parents, which they aren't",
            task.describe());
}

/// Returns true if a pipe of criu may signal the process: criu is root of the initial user namespace, or has the uid of
/// the process (sigio_perm() of Linux).
bool isInReach(const FrozenTask& task) {
    constexpr std::uint32_t kInitialUserNamespace = 0xEFFFFFFD;  // PROC_USER_INIT_INO, linux/proc_ns.h
    const uid_t own = ::geteuid();
    if (task.status.uid.real == own || task.status.uid.saved == own)
        return true;
    const UniqueFd users = kernel::openOwnNamespace(kernel::NamespaceKind::User);
    return own == 0 && kernel::namespaceInode(users.get()) == kInitialUserNamespace;
}

/// Sends SIGKILL to all processes by one system call. Returns false if it has sent none: the tree has one process or
/// several pid namespaces, whose processes must end in order, or the call isn't possible.
bool killAtOnce(FrozenTree& tree, const std::vector<FrozenTask*>& tasks, Log& log) {
    const std::size_t level = levelOf(*tree.tasks().front());
    const auto isElsewhere = [&](const FrozenTask* task) { return levelOf(*task) != level || isFirst(*task); };
    if (tasks.size() < 2 || std::any_of(tasks.begin(), tasks.end(), isElsewhere))
        return false;
    std::vector<pid_t> pids;
    for (const FrozenTask* const task : tasks)
        pids.push_back(task->pid().value);
    try {
        if (!std::all_of(tasks.begin(), tasks.end(), [](const FrozenTask* task) { return isInReach(*task); }))
            return false;
        kernel::SimultaneousKill(pids).send();
        return true;
    } catch (const Error& error) {
        log.info("The processes are killed one after the other: {}", error.what());
        return false;
    }
}

/// Sends SIGKILL to all processes except the root, so that they end in parallel. If each one ended before the next
/// SIGKILL, this would take a tenth of the time of a dump of many small processes. Does nothing if the tree has several
/// pid namespaces, because their processes must end in order.
void beginEnds(FrozenTree& tree, const std::vector<FrozenTask*>& tasks) {
    const std::size_t level = levelOf(*tree.tasks().front());
    if (std::any_of(tasks.begin(), tasks.end(), [&](const FrozenTask* task) { return levelOf(*task) != level; }))
        return;
    for (FrozenTask* const task : tasks)
        if (task->pid() != tree.rootPid())
            task->process->beginKill();
}

}  // namespace

bool killTree(FrozenTree& tree, Log& log, bool& begun) {
    const std::vector<FrozenTask*> order = inOrderOfEnds(tree);
    std::vector<FrozenTask*> ordinary;
    std::copy_if(order.begin(), order.end(), std::back_inserter(ordinary),
                 [](const FrozenTask* task) { return task->pid() != kInitPid && !isFirst(*task); });
    ParallelExitMmap memory(ordinary, availableCores());
    if (!killAtOnce(tree, order, log)) {
        // Makes the kernel kill all processes if criu is killed during the following slow steps. Otherwise some
        // processes could survive while others are dead. Begins with the root: if the root is init of a pid namespace,
        // all other processes end with it (zap_pid_ns_processes() of Linux), so that this one call decides.
        for (auto task = order.rbegin(); task != order.rend(); ++task)
            dieWithCriu(**task);
        for (FrozenTask* const task : memory.tasks())
            task->process->beginKill();
        memory.freeMemory();
        beginEnds(tree, ordinary);
    } else {
        begun = true;
        memory.freeMemory();
    }
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
