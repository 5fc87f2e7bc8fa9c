// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/dump/frozen_tree.hpp"

#include <signal.h>

#include <compel/error.hpp>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <set>
#include <thread>

#include "criu/base/error.hpp"
#include "criu/base/journal.hpp"
#include "criu/base/log.hpp"
#include "criu/base/stop_request.hpp"
#include "criu/cgroup/freezer.hpp"
#include "criu/engine/dump/kill_tree.hpp"
#include "criu/engine/dump/tasks/nested_pids.hpp"
#include "criu/engine/required_caps.hpp"
#include "criu/kernel/proc/limits.hpp"
#include "criu/kernel/proc/proc_ns.hpp"
#include "criu/kernel/proc/sharing.hpp"
#include "criu/kernel/proc/tasks.hpp"
#include "criu/kernel/wait_group_stop.hpp"
#include "criu/model/thread_plan.hpp"

namespace criu::engine {
namespace {

bool isDead(const kernel::TaskStat& stat) {
    return stat.state == kernel::TaskState::Zombie || stat.state == kernel::TaskState::Dead;
}

/// Returns a text such as "process 7 (gdb)". Omits the name if criu may not read it.
std::string describeTracer(pid_t tracer) {
    try {
        kernel::ProcBuffer buffer;
        return fmt::format("process {} ({})", tracer, kernel::readStat(kernel::ProcDir().open(tracer), buffer).comm);
    } catch (const Error&) {
        return fmt::format("process {}", tracer);
    }
}

/// Refuses a kernel thread, because the kernel doesn't let criu trace it.
void refuseKernelThread(const FrozenTask& task) {
    constexpr std::uint32_t kKernelThread = 0x00200000;  // PF_KTHREAD
    if ((task.stat.flags & kKernelThread) != 0)
        fail("it is a kernel thread");
}

/// Refuses a task that another process traces, because the kernel doesn't let criu trace it.
void refuseTraced(const FrozenTask& task) {
    if (task.status.tracerPid == 0)
        return;
    Error error(0, fmt::format("it is traced by {}", describeTracer(task.status.tracerPid)));
    error.addHint("a process has one tracer only: let the debugger detach, or end it");
    throw error;
}

/// Returns true if a stopped process without children can't get a child any more. Another process' orphan needs a
/// parent that is an ancestor of this orphan, another thread of its dead parent, or init of its pid namespace.
bool staysChildless(const FrozenTask& task) {
    const std::vector<pid_t>& pids = task.status.nsPid;
    return task.process->threads().size() == 1 && !task.leaderEnded() && !pids.empty() && pids.back() != 1;
}

/// Reads the status of a process whose main thread has ended. The kernel shows memory and processor state of
/// `task.dir`, a living thread, and the other values of the main thread.
void readEndedLeader(FrozenTask& task, const kernel::ProcPid& leader, kernel::ProcBuffer& buffer) {
    // While a process is stopped, /proc/PID/stat shows the stop signal instead of the main thread's exit code.
    const kernel::TaskStat own = kernel::readStat(leader.thread(task.pid().value), buffer);
    task.stat = kernel::readStat(task.dir, buffer);
    task.stat.pid = own.pid;
    task.stat.comm = own.comm;
    task.stat.flags = own.flags;
    task.stat.startTime = own.startTime;
    task.stat.exitSignal = own.exitSignal;
    task.stat.exitCode = own.exitCode;
    task.status = kernel::readStatus(leader, buffer);
}

/// Calls `before` for all processes in a cgroup and in the cgroups below it.
void announceGroup(const std::string& path, const std::function<void(HostPid)>& before) {
    const auto announceAll = [&](const std::filesystem::path& group) {
        std::ifstream processes(group / "cgroup.procs");
        for (pid_t pid = 0; processes >> pid;)
            if (pid > 0)  // the kernel shows 0 for a process outside of criu's pid namespace
                before(HostPid(pid));
    };
    announceAll(path);
    std::error_code vanished;  // ignored: a cgroup that is removed during the walk has no processes
    const std::filesystem::recursive_directory_iterator end;
    for (std::filesystem::recursive_directory_iterator at(path, vanished); at != end; at.increment(vanished))
        if (at->is_directory(vanished))
            announceAll(at->path());
}

}  // namespace

FrozenTask::FrozenTask(kernel::ProcPid directory)
    : dir(std::move(directory)), namespaces_(std::make_unique<kernel::CachedNamespaceIds>()) {}

FrozenTask::~FrozenTask() = default;

std::optional<std::uint32_t> FrozenTask::namespaceOf(kernel::NamespaceKind kind) {
    return namespaces_->of(dir, kind);
}

kernel::NamespaceIds FrozenTask::namespaces() {
    return namespaces_->all(dir);
}

const kernel::ResourceLimits& FrozenTask::limits(kernel::ProcBuffer& buffer) {
    if (!limits_)
        limits_ = kernel::readLimits(dir, buffer);
    return *limits_;
}

const model::ThreadObjects* FrozenTask::objectsOf(std::size_t index) const noexcept {
    return objects.empty() ? nullptr : &objects[index];
}

std::string FrozenTask::describe() const {
    return fmt::format("process {} ({})", pid(), status.name);
}

compel::FrozenProcess FrozenTree::seize(HostPid pid) const {
    return compel::FrozenProcess::seize(pid.value, options_);
}

compel::FrozenProcess FrozenTree::seizeAsAllowed(HostPid pid) {
    try {
        return seize(pid);
    } catch (const compel::Error& error) {
        if (error.code() != EPERM || !options_.seize.suspendSeccomp || !tasks_.empty())
            throw;
    }
    options_.seize.suspendSeccomp = false;
    return seize(pid);
}

void FrozenTree::stop(FrozenTask& task) {
    task.process->stop(options_);
    const compel::FrozenThread& leader = task.process->threads().front();
    if (leader.groupStopped()) {
        task.state = model::TaskState::Stopped;
        task.stopSignal = leader.stopSignal;
    }
    // Reads stat and status again, because the process may have changed both before it stopped.
    if (task.leaderEnded()) {
        const kernel::ProcPid main = proc_.open(task.pid().value);
        task.dir = proc_.open(task.actor().value);
        return readEndedLeader(task, main, buffer_);
    }
    task.stat = kernel::readStat(task.dir, buffer_);
    task.status = kernel::readStatus(task.dir, buffer_);
}

std::vector<HostPid> FrozenTree::actors() const {
    std::vector<HostPid> actors;
    for (const auto& task : tasks_)
        if (task->alive())
            actors.push_back(task->actor());
    return actors;
}

const kernel::Sharing& FrozenTree::sharedTables() {
    if (!sharedTables_)
        sharedTables_ = std::make_unique<const kernel::Sharing>(actors(), kernel::KcmpType::Files);
    return *sharedTables_;
}

/// Seizes the threads of a process whose main thread has ended. Returns false if all threads have ended: a process that
/// is being killed has an ended main thread for a moment.
bool FrozenTree::seizeOthers(FrozenTask& task, HostPid pid) {
    constexpr std::chrono::seconds kPatience{2};
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    for (; task.stat.threads > 1; task.stat = kernel::readStat(task.dir, buffer_)) {
        stop_.throwIfRequested();
        before_(pid);
        try {
            task.process = seizeAsAllowed(pid);
            return true;
        } catch (const compel::TraceeGone&) {
            if (std::chrono::steady_clock::now() >= deadline)
                throw;
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return false;
}

void FrozenTree::add(HostPid pid) {
    auto task = std::make_unique<FrozenTask>(proc_.open(pid.value));
    const ErrorContext context([&] { return fmt::format("process {}", pid); });
    const auto look = [&] {
        task->stat = kernel::readStat(task->dir, buffer_);
        task->status = kernel::readStatus(task->dir, buffer_);
    };
    // A living child with a program needs no look before its stop, unless the kernel doesn't let criu seize it.
    const bool looksFirst = tasks_.empty() || onlySeizing_ || !task->dir.hasTarget("exe");
    if (looksFirst)
        look();
    task->stat.pid = pid.value;
    const std::size_t levels = tasks_.empty() ? task->status.nsPid.size() : tasks_.front()->status.nsPid.size();
    task->pidLevel = levels > 0 ? levels - 1 : 0;
    if (isDead(task->stat)) {
        if (!seizeOthers(*task, pid))
            task->state = model::TaskState::Dead;
    } else {
        if (looksFirst) {
            refuseKernelThread(*task);
            refuseTraced(*task);
        }
        before_(pid);
        try {
            task->process = seizeAsAllowed(pid);
        } catch (compel::Error& error) {
            if (!looksFirst) {
                look();
                refuseTraced(*task);
            }
            explainUntraceable(error, pid);
            throw;
        }
    }
    known_.emplace(pid, task.get());
    tasks_.push_back(std::move(task));
}

void FrozenTree::clear() noexcept {
    known_.clear();
    tasks_.clear();
}

FrozenTask* FrozenTree::find(HostPid pid) const noexcept {
    const auto found = known_.find(pid);
    return found != known_.end() ? found->second : nullptr;
}

bool FrozenTree::isChildOfMember(const FrozenTask& task) const {
    return known_.contains(HostPid(task.stat.ppid));
}

/// Adds the unknown children of a process, and stops them. All children get the request to stop before criu waits for
/// the first one. Returns true if the next pass of addAll() may find more processes.
bool FrozenTree::addChildren(FrozenTask& parent) {
    if (!parent.alive() || parent.staysChildless)
        return false;
    const std::size_t first = tasks_.size();
    bool found = false;
    bool hasChildren = false;
    for (const compel::FrozenThread& thread : parent.process->threads()) {
        // For the kernel, the parent of a process is one thread (task_struct::real_parent). When this thread ends, the
        // kernel makes another thread of the parent process the parent.
        const HostPid tid(thread.tracee.tid());
        const HostPid parentThread = tid == parent.pid() ? HostPid() : tid;
        for (const pid_t number : kernel::readChildren(parent.dir, tid.value, buffer_)) {
            const HostPid child(number);
            hasChildren = true;
            if (find(child) == nullptr) {
                stop_.throwIfRequested();
                found = true;
                if (!tryFor(child, [&] { add(child); }))
                    continue;
            }
            find(child)->parentThread = parentThread;
        }
    }
    parent.staysChildless = !hasChildren && !onlySeizing_ && staysChildless(parent);
    stopAdded(first);
    return found;
}

/// Calls `work`, which seizes or stops a child. Returns false if the child has ended. The next pass of addAll() finds
/// the zombie, if there is one.
bool FrozenTree::tryFor(HostPid child, const std::function<void()>& work) {
    try {
        work();
        return true;
    } catch (const Error& error) {
        if (error.code() != ENOENT && error.code() != ESRCH)
            throw;
    } catch (const compel::Error& error) {
        // While a killed process ends, its main thread is a zombie beside other threads.
        const bool gone = dynamic_cast<const compel::TraceeGone*>(&error) != nullptr;
        if (!hasEnded(child, gone))
            throw;
    }
    return false;
}

/// Returns true if the process has ended. `mainThread`: the end of the main thread suffices.
bool FrozenTree::hasEnded(HostPid pid, bool mainThread) {
    try {
        const kernel::TaskStat stat = kernel::readStat(proc_.open(pid.value), buffer_);
        return isDead(stat) && (mainThread || stat.threads <= 1);
    } catch (const Error& error) {
        if (error.code() != ENOENT && error.code() != ESRCH)
            throw;
        return true;  // the parent has reaped the process
    }
}

/// Stops the processes from index `first` that add() has seized. Removes a process that has ended. Also removes a
/// process that isn't in the tree: a child may end after criu has read the list of children, and another process may
/// get its pid.
void FrozenTree::stopAdded(std::size_t first) {
    for (std::size_t i = first; i < tasks_.size();) {
        FrozenTask& task = *tasks_[i];
        const HostPid pid = task.pid();
        const ErrorContext context([&] { return fmt::format("process {}", pid); });
        stop_.throwIfRequested();
        const bool stops = task.alive() && !onlySeizing_;
        if ((!stops || tryFor(pid, [&] { stop(task); })) && isChildOfMember(task)) {
            ++i;
            continue;
        }
        known_.erase(pid);
        tasks_.erase(tasks_.begin() + static_cast<std::ptrdiff_t>(i));
    }
}

void FrozenTree::addAll() {
    // Repeats until a pass finds no new process: when a process ends, the kernel may make a frozen process the parent
    // of its children.
    for (bool found = true; found;) {
        found = false;
        for (std::size_t i = 0; i < tasks_.size(); ++i)
            found = addChildren(*tasks_[i]) || found;
    }
}

FrozenTree::~FrozenTree() = default;

FrozenTree::FrozenTree(std::chrono::seconds timeout, StopRequest& stop, Log& log)
    : timeout_(timeout), stop_(stop), log_(log) {
    constexpr std::chrono::hours kForEver{24 * 365};
    options_.patience = timeout.count() > 0 ? std::chrono::milliseconds(timeout) : kForEver;
    options_.libraries = std::make_shared<compel::KnownLibraries>();
    options_.seize.suspendSeccomp = true;
    options_.seize.longestWait = std::chrono::milliseconds(timeout);
}

void FrozenTree::addTree(HostPid root) {
    add(root);
    FrozenTask& task = *tasks_.front();
    if (!task.alive())
        fail("process {} has ended (it is a zombie)", root);
    if (!onlySeizing_) {
        const ErrorContext context([&] { return fmt::format("process {}", root); });
        stop(task);
    }
    addAll();
}

void FrozenTree::learnPids() {
    if (tasks_.front()->pidLevel > 0) {  // at level 0, the tree is in criu's pid namespace, and HostPid equals TreePid
        pids_ = model::TreePids::ofOwnNamespace();
        for (const auto& task : tasks_)
            learnPidsOf(*task);
    }
    pids_.setNested(seenNestedPids(*this));
}

void FrozenTree::learnPidsOf(FrozenTask& task) {
    pids_.add(task.pid(), task.treePid());
    pids_.add(HostPid(task.stat.pgrp), task.group());
    pids_.add(HostPid(task.stat.session), task.session());
    if (!task.alive())
        return;
    for (const compel::FrozenThread& thread : task.process->threads()) {
        const HostPid tid(thread.tracee.tid());
        if (tid != task.pid())
            pids_.add(tid, TreePid(kernel::readThreadStatus(task.dir, tid.value, buffer_).nsPid.at(task.pidLevel)));
    }
}

void FrozenTree::requireAccess(HostPid root, const std::optional<std::string>& group) {
    requireTraceable(root);
    if (group)
        (void)cgroup::Freezer::open(*group);
}

void FrozenTree::freeze(HostPid root, const std::optional<std::string>& group,
                        const std::function<void(HostPid)>& before) {
    std::set<HostPid> announced;
    before_ = [&](HostPid pid) {
        if (announced.insert(pid).second)
            before(pid);
    };
    try {
        if (group) {
            announceGroup(*group, before_);
            freezer_ = std::make_unique<cgroup::Freezer>(*group, timeout_, stop_, &log_.journal());
            onlySeizing_ = true;
        }
        addTree(root);
        if (freezer_) {
            freezer_->thaw();
            log_.journal().record({"thawed"});
            onlySeizing_ = false;
            for (const auto& task : tasks_)
                if (task->alive()) {
                    const ErrorContext context([&] { return fmt::format("process {}", task->pid()); });
                    stop(*task);
                }
            addAll();
        }
        learnPids();
    } catch (...) {
        // Thaws the cgroup before clear() detaches. criu can detach only a stopped thread, and a thread in the cgroup
        // v1 freezer doesn't reach its ptrace stop.
        if (onlySeizing_)
            freezer_->thaw();
        clear();
        throw;
    }
    before_ = nullptr;
    log_.info("Frozen: {} processes", tasks_.size());
}

bool FrozenTree::kill() {
    log_.journal().record({"ends"});
    bool rootStays = false;
    try {
        rootStays = killTree(*this, log_, endBegun_);
    } catch (...) {
        endBegun_ = endBegun_ || std::any_of(tasks_.begin(), tasks_.end(), [](const auto& task) {
                        return task->alive() && task->process->killSent();
                    });
        throw;
    }
    clear();
    if (freezer_)
        freezer_->release();
    return rootStays;
}

void FrozenTree::restoreGroup() {
    if (freezer_)
        freezer_->restore();
}

void FrozenTree::resume(bool stopped) {
    if (freezer_)
        freezer_->restore();
    std::vector<HostPid> stopping;
    for (const auto& task : tasks_) {
        if (!task->alive() || !stopped || task->state == model::TaskState::Stopped)
            continue;
        ::kill(task->pid().value, SIGSTOP);
        stopping.push_back(task->pid());
    }
    for (const auto& task : tasks_) {
        if (!task->alive())
            continue;
        try {
            task->process->detach();
        } catch (const compel::Error&) {
            // Ignored: a thread that criu has resumed before has ended the process.
        }
    }
    clear();
    waitGroupStop(stopping);
}

}  // namespace criu::engine
