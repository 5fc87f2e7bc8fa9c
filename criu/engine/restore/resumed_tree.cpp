// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/restore/resumed_tree.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <compel/error.hpp>
#include <compel/process.hpp>
#include <compel/remote_memory.hpp>
#include <compel/remote_syscalls.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <deque>
#include <span>

#include "criu/base/error.hpp"
#include "criu/base/thread_pool.hpp"
#include "criu/cgroup/cgroup_restore.hpp"
#include "criu/cgroup/set_of.hpp"
#include "criu/engine/lazy/lazy_restore.hpp"
#include "criu/engine/rescue.hpp"
#include "criu/engine/restore/birth/restore_start.hpp"
#include "criu/engine/restore/files/restored_files.hpp"
#include "criu/engine/restore/process_standby.hpp"
#include "criu/engine/restore/restore_control.hpp"
#include "criu/engine/restore/restore_images.hpp"
#include "criu/engine/restore/restore_run.hpp"
#include "criu/engine/restore/restorer_removal.hpp"
#include "criu/engine/restore/task/drop_privileges.hpp"
#include "criu/engine/restore/task/late_threads.hpp"
#include "criu/engine/restore/task/restorer_area.hpp"
#include "criu/engine/restore/task/rights_check.hpp"
#include "criu/engine/restore/task/ring_creation.hpp"
#include "criu/engine/restore/task/thread_registers.hpp"
#include "criu/engine/restore/task/thread_steps.hpp"
#include "criu/kernel/proc/procdir.hpp"
#include "criu/kernel/wait_group_stop.hpp"
#include "criu/model/pid_map.hpp"
#include "criu/model/process_tree.hpp"
#include "criu/namespaces/namespace_restore.hpp"
#include "criu/pie/enter.hpp"
#include "criu/task/attributes.hpp"
#include "criu/task/limits.hpp"
#include "criu/task/scheduling.hpp"
#include "images/core.hpp"

namespace criu::engine {
namespace {

/// Number of processes of a lane that make system calls for criu at the same time. More processes hardly save more
/// time.
constexpr std::size_t kProcessesAtOnce = 32;

/// Least number of processes for which another lane saves more time than its thread costs.
constexpr std::size_t kProcessesOfLane = 8;

/// Limit for the stop of a parked process, which executes criu's code. Only a lack of processor time delays the stop.
constexpr std::chrono::minutes kStopLimit{1};

/// Returns the signal that stopped the process before the dump. If the images don't name SIGTSTP, SIGTTIN or SIGTTOU,
/// returns SIGSTOP.
int stopSignalOf(const TaskCoreEntry& core) {
    const int signal = core.has_stop_signo != 0 ? static_cast<int>(core.stop_signo) : SIGSTOP;
    return signal == SIGTSTP || signal == SIGTTIN || signal == SIGTTOU ? signal : SIGSTOP;
}

/// Returns the signal by which a restored process stops; 0 for a process that runs. `stopAll`: all processes stop.
int stopSignalFor(const model::Task& task, bool stopAll) {
    if (task.state == model::TaskState::Stopped)
        return stopSignalOf(*task.core().tc);
    return stopAll ? SIGSTOP : 0;
}

/// Sets the POSIX locks of a process by fcntl(2) calls that criu makes in the process. Writes the arguments of these
/// calls to the address `room` in the process. Throws Error.
void setPosixLocks(compel::RemoteSyscalls& calls, std::uint64_t room, const std::vector<const FileLockEntry*>& locks) {
    const compel::RemoteMemory memory(calls.tracee().tid());
    for (const FileLockEntry* const lock : locks) {
        const struct flock range = files::asPosixLock(*lock);
        memory.write(room, std::as_bytes(std::span(&range, 1)));
        const std::int64_t result = calls.call(SYS_fcntl, lock->fd, F_SETLK, room);
        if (compel::isSyscallError(result))
            files::failLock(static_cast<int>(-result), *lock);
    }
}

void addFiles(const RestoreRun& run, const model::FdTable& table, ProcessStandby& standby) {
    for (const model::FdSlot& slot : table.slots)
        if (const auto at = run.files.indexOf(slot.file))
            standby.addFile(slot.fd, *run.files.at(*at).file);
}

/// Returns the functions that create and complete the late threads of a process. `threads`: gets the new threads.
/// All arguments must outlive the result.
/// `move` moves new threads to their cgroups.
PrivilegeDrop::Late lateThreads(const RestoreRun& run, const PidMap& pids, compel::FrozenProcess& process,
                                const model::Task& task, const compel::InjectedMemory& area,
                                PrivilegeDrop::Threads& threads, const std::function<void()>& move) {
    const auto create = [&run, &pids, &process, &task, &area, &threads, move] {
        const std::size_t present = process.threads().size();
        createLateThreads(process, task, run.content.tree.nested(), pids, area);
        const kernel::ProcPid dir = kernel::ProcDir().open(process.pid());
        for (std::size_t i = present; i < process.threads().size(); ++i) {
            compel::FrozenThread& thread = process.threads()[i];
            threads.emplace(pids.insideOf(dir, HostPid(thread.tracee.tid())), &thread);
        }
        move();
    };
    const auto compose = [steps = ThreadSteps(run, task), &task](std::size_t thread, pie::StepList& list,
                                                                 pie::RemoteData& data) {
        steps.compose(task.threads[thread], list, data);
        if (thread == 0)
            steps.composeTimers(list, data);
    };
    return {create, compose};
}

void makeDumpable(compel::FrozenProcess& process) {
    compel::RemoteSyscalls calls(process.leader(), process.syscallInstruction());
    calls.checkedCall("become dumpable", SYS_prctl, {PR_SET_DUMPABLE, 1});
    calls.restore();
}

/// Returns the number of lanes for the processes of a restore.
std::size_t lanesFor(const RestoreRun& run, bool keepsRestorer) {
    // Device subsystems and lazy pages make calls in processes from criu's first thread.
    if (!keepsRestorer || run.lazy != nullptr)
        return 1;
    const auto& tasks = run.content.tree.tasks;
    const auto alive = static_cast<std::size_t>(
        std::count_if(tasks.begin(), tasks.end(), [](const auto& task) { return task->alive(); }));
    return std::clamp<std::size_t>(alive / kProcessesOfLane, 1, availableCores());
}

/// Calls `work`, which is a step for a process. Ignores the end of the process: only an outside process can have killed
/// it. Only warns of other failures, because the tree is committed.
template <typename Work>
void attempt(const RestoreRun& run, const model::Task& task, const Work& work) {
    try {
        work();
    } catch (const compel::TraceeGone&) {
        return;
    } catch (const compel::Error& error) {
        if (error.code() != ESRCH)
            run.log.warn("Process {} runs on without a part of its state: {}", task.pid, error.what());
    }
}

}  // namespace

struct ResumedTree::Member {
    const model::Task* task;
    compel::InjectedMemory area;
    std::vector<const files::PolledRing*> rings;  ///< rings that createPolledRings() creates
    Threads threads{};
    std::optional<compel::FrozenProcess> process{};  ///< no value before seize() and after resumeTasks()
    std::optional<ProcessStandby> standby{};
    bool stopped = false;  ///< true if settle() has group-stopped the process
};

ResumedTree::~ResumedTree() = default;

void ResumedTree::forEach(const std::function<void(compel::FrozenProcess& process, TreePid pid)>& work) {
    for (Member& member : members_)
        work(*member.process, member.task->pid);
}

/// Calls `step` for each member, in the lane of the member.
template <typename Step>
void ResumedTree::inLanes(const Step& step) {
    lanes_.run([&](std::size_t lane) {
        const ThreadLanes::Part part = lanes_.part(members_.size(), lane);
        for (std::size_t i = part.first; i < part.end; ++i) {
            const ErrorContext context([&] { return fmt::format("process {}", members_[i].task->pid); });
            step(members_[i]);
        }
    });
}

/// Calls `work` for ranges of members, in the lane of these members. `work` gets the first index and the end of a range
/// of at most kProcessesAtOnce members.
template <typename Work>
void ResumedTree::inBatches(const Work& work) {
    lanes_.run([&](std::size_t lane) {
        const ThreadLanes::Part part = lanes_.part(members_.size(), lane);
        for (std::size_t first = part.first; first < part.end; first += kProcessesAtOnce)
            work(first, std::min(first + kProcessesAtOnce, part.end));
    });
}

ResumedTree::ResumedTree(const RestoreRun& run, const PidMap& pids, bool keepsRestorer)
    : keepsRestorer_(keepsRestorer), lanes_(lanesFor(run, keepsRestorer)) {
    const RestorerAreas areas(run.control);
    for (const auto& task : run.content.tree.tasks)
        if (task->alive())
            members_.push_back({task.get(), areas.of(*task), run.files.polledRingsOf(*task)});
    // Seizes all processes before the first one gets the credentials of its user: a process with these credentials
    // could trace a process that isn't seized.
    seize(run, pids);
    inLanes([&run](Member& member) { releaseFiles(run, member); });
    // Registers lazy areas here: before a thread can access them, and while the processes still have the privilege to
    // create a userfaultfd.
    if (run.lazy != nullptr) {
        inLanes([&run](Member& member) {
            run.lazy->handOver(*member.process, member.area, *member.task);
            if (member.rings.empty())  // createRings() sets the limit of the others
                task::restoreLimit(*member.task->core().tc, {run.start.limits, run.start.limitsBefore}, RLIMIT_NOFILE,
                                   member.process->pid());
        });
        run.lazy->begin();
    }
    inBatches([&](std::size_t first, std::size_t end) { dropPrivileges(run, pids, first, end); });
    createPolledRings(run, pids);
    inLanes([&](Member& member) { complete(run, member); });
}

/// Seizes all processes. All of them get the request to stop before criu waits for the first one.
void ResumedTree::seize(const RestoreRun& run, const PidMap& pids) {
    const auto optionsFor = [&run](const Member& member) {
        compel::FreezeOptions options;
        options.seize.killOnExit = true;
        options.patience = std::max<std::chrono::milliseconds>(kStopLimit, run.options.timeout);
        options.seize.suspendSeccomp = run.content.seccomp.contains(member.task->pid);
        return options;
    };
    inLanes([&](Member& member) {
        member.process = compel::FrozenProcess::seize(pids.outside(member.task->pid).value, optionsFor(member));
    });
    inLanes([&](Member& member) {
        compel::FrozenProcess& process = *member.process;
        process.stop(optionsFor(member));
        requireParked(process, member.area);
        const kernel::ProcPid dir = kernel::ProcDir().open(process.pid());
        // Room for late threads: other objects have pointers to the elements.
        process.threads().reserve(member.task->threads.size() + 1);
        for (compel::FrozenThread& thread : process.threads())
            member.threads.emplace(pids.insideOf(dir, HostPid(thread.tracee.tid())), &thread);
    });
}

void ResumedTree::releaseFiles(const RestoreRun& run, Member& member) {
    const model::Task& task = *member.task;
    const bool closes = task.files->users.size() > 1 && task.files->users.front() == task.pid;
    const std::vector<const FileLockEntry*> locks = run.files.locks().ofProcess(task.pid);
    if (!closes && locks.empty())
        return;
    compel::RemoteSyscalls calls(member.process->leader(),
                                 compel::syscallInstructionIn(pie::interpreterBlob(), member.area.code));
    if (closes)
        calls.checkedCall(
            "close criu's descriptors", SYS_close_range,
            {static_cast<std::uint64_t>(run.service.first), static_cast<std::uint64_t>(run.service.last)});
    setPosixLocks(calls, member.area.data, locks);
}

/// Moves threads to the cgroups of the images that differ from those of the process.
void ResumedTree::moveThreads(const Member& member, cgroup::CgroupRestore& cgroups) {
    const std::uint32_t ofProcess = cgroup::setOf(member.task->core());
    for (const model::Thread& thread : member.task->threads)
        if (const std::uint32_t set = cgroup::setOf(**thread.core); set != 0 && set != ofProcess)
            if (const auto made = member.threads.find(thread.tid); made != member.threads.end()) {
                const std::scoped_lock lock(moving_);
                cgroups.moveThread(HostPid(made->second->tracee.tid()), set, ofProcess);
            }
}

/// Sets the credentials of the processes from index `first` to `end`. Unmaps the restorer unless commit() needs it.
void ResumedTree::dropPrivileges(const RestoreRun& run, const PidMap& pids, std::size_t first, std::size_t end) {
    const PrivilegeDrop::Common common{
        run.start.credentials, run.start.dumpable, *run.start.labels, {run.start.limits, run.start.limitsBefore}};
    std::deque<PrivilegeDrop> drops;
    const auto forEach = [&](auto&& step) {
        for (std::size_t i = first; i < end; ++i) {
            const ErrorContext context([&] { return fmt::format("process {}", members_[i].task->pid); });
            step(i);
        }
    };
    forEach([&](std::size_t i) {
        Member& member = members_[i];
        const model::Task& task = *member.task;
        const auto move = [this, &member, &run] { moveThreads(member, run.cgroups); };
        if (!task.lateThreads)
            move();
        const auto seccomp = run.content.seccomp.find(task.pid);
        const UniqueFd* const users = run.nsContext.usernsOf(task);
        drops
            .emplace_back(*member.process, member.threads, task,
                          seccomp != run.content.seccomp.end() ? &seccomp->second : nullptr, common,
                          users != nullptr ? users->get() : -1,
                          task.lateThreads ? std::optional(lateThreads(run, pids, *member.process, task, member.area,
                                                                       member.threads, move))
                                           : std::nullopt)
            .start(member.area);
    });
    std::vector<compel::Injection*> restorers;
    forEach([&](std::size_t i) {
        drops[i - first].finish();
        compel::Injection& restorer = drops[i - first].injection();
        if (keepsRestorer_ || !members_[i].rings.empty())
            restorer.leave();
        else
            restorers.push_back(&restorer);
    });
    compel::Injection::cureAll(restorers);
    for (compel::Injection* const restorer : restorers)
        restorer->cure();
}

/// Creates the rings with kernel threads. Comes after all late threads are created, because kernel threads take free
/// tids.
void ResumedTree::createPolledRings(const RestoreRun& run, const PidMap& pids) {
    if (std::all_of(members_.begin(), members_.end(), [](const Member& member) { return member.rings.empty(); }))
        return;
    const std::vector<WatchedRing> watched = watchedRings(run, pids);
    inLanes([&](Member& member) {
        if (member.rings.empty())
            return;
        setScheduling(run, member);  // the kernel thread inherits that of its creator
        compel::Injection injection(member.process->leader(), pie::interpreterBlob(), member.area);
        createRings({*member.task, member.rings, watched, {run.start.limits, run.start.limitsBefore}, run.log},
                    *member.process, injection, member.area);
        if (keepsRestorer_)
            injection.leave();
        else
            injection.cure();
    });
}

void ResumedTree::complete(const RestoreRun& run, Member& member) const {
    const model::Task& task = *member.task;
    setRegisters(*member.process, member.threads, task,
                 keepsRestorer_ ? std::optional(member.area.code) : std::nullopt);
    if (run.nsContext.ids.isOwnNamespace()) {
        task::restorePrivilegedAttributes(*task.core().tc, kernel::ProcDir().open(member.process->pid()));
    }
    setScheduling(run, member);
}

/// Sets the scheduling of threads that had no right to set it themselves (ThreadSteps::compose()).
void ResumedTree::setScheduling(const RestoreRun& run, const Member& member) {
    const model::Task& task = *member.task;
    if (run.nsContext.ids.isOwnNamespace() || task.lateThreads)
        for (const model::Thread& thread : task.threads)
            task::applyScheduling(HostPid(member.threads.at(thread.tid)->tracee.tid()), *(*thread.core)->thread_core);
}

void ResumedTree::requireRights(const RestoreRun& run, const PidMap& pids) {
    const RightsCheck check(run.nsContext.ids, *run.start.labels);
    inLanes([&](const Member& member) {
        const model::Task& task = *member.task;
        const auto seccomp = run.content.seccomp.find(task.pid);
        check.require(*member.process, member.threads, task,
                      seccomp != run.content.seccomp.end() ? &seccomp->second : nullptr,
                      task.ppid ? std::optional(pids.outside(task.ppid)) : std::nullopt);
    });
}

ResumedTree::KillOnFailure::~KillOnFailure() {
    std::vector<Member>& members = tree_.members_;
    // As long as criu traces a process, the kernel doesn't reuse its pid, so the signal can't reach another process.
    for (Member& member : members)
        if (member.process && !member.process->leader().released())
            ::kill(member.process->pid(), SIGKILL);
    // Reaps children before their parents, because the init of a pid namespace ends only when all other processes of
    // the namespace are reaped. All lanes reap at the same time, so the lane of init waits for the others.
    tree_.lanes_.run([&](std::size_t lane) {
        const ThreadLanes::Part part = tree_.lanes_.part(members.size(), lane);
        for (std::size_t i = part.end; i-- > part.first;)
            members[i].process.reset();
    });
}

/// Calls `work` for each thread that has syscall user dispatch in the images.
template <typename Work>
void ResumedTree::forEachDispatch(const Member& member, const Work& work) {
    for (const model::Thread& thread : member.task->threads)
        if (const UserDispatch* const dispatch = (*thread.core)->thread_core->user_dispatch; dispatch != nullptr)
            work(member.threads.at(thread.tid)->tracee,
                 compel::UserDispatch{dispatch->selector, dispatch->start, dispatch->size});
}

void ResumedTree::commit(const RestoreRun& run, bool stopAll) {
    inLanes([&run](Member& member) { show(run, member); });
    if (keepsRestorer_)
        recordRestorers(run.log);
    standsBy_ = keepsRestorer_ && beginStandby(run, stopAll);
    if (!standsBy_)
        recordProcesses(run.log);
    // From here on, each process continues by itself if criu is killed.
    run.control.commitWord().commit();
}

/// Lets main threads end that have ended in the images. Comes after the commit, because an ended thread has no memory.
void ResumedTree::endLeaders(const RestoreRun& run) {
    inLanes([&](Member& member) {
        if (!member.task->leaderEnded)
            return;
        if (standsBy_)
            attempt(run, *member.task, [&] { member.standby->endLeader(); });
        attempt(run, *member.task, [&] { member.process->releaseEndingLeader(); });
    });
}

void ResumedTree::settle(const RestoreRun& run, bool stopAll, bool freezes) {
    endLeaders(run);
    // Stops processes in stand-by, because the stand-by also stops them if criu is killed before this call.
    forEachLiving(run, [&](Member& member) { stop(member, stopAll); });
    if (!freezes)
        return;
    endStandby(run);
    finished_ = true;
}

/// Lets `criu rescue` end the rest of the tree if criu is killed between the resumes of two processes.
void ResumedTree::recordProcesses(Log& log) const {
    std::vector<HostPid> pids;
    for (const Member& member : members_)
        pids.emplace_back(member.process->pid());
    recordResuming(pids, log);
}

/// Lets `criu rescue` unmap the restorers if criu is killed before it unmaps them.
void ResumedTree::recordRestorers(Log& log) const {
    std::vector<RestorerRange> all;
    for (const Member& member : members_) {
        const compel::InjectedMemory& area = member.area;
        all.push_back({HostPid(member.process->pid()), area.code, area.data + area.dataSize - area.code});
    }
    engine::recordRestorers(all, log);
}

/// Gives all threads their own registers and their syscall user dispatch, and unmaps the restorers.
void ResumedTree::endStandby(const RestoreRun& run) {
    if (standsBy_)
        forEachLiving(run, [](Member& member) { member.standby->end(); });
    for (Member& member : members_)
        member.standby.reset();
    if (keepsRestorer_)
        inBatches([&](std::size_t first, std::size_t end) {
            std::vector<KeptRestorer> restorers;
            for (std::size_t i = first; i < end; ++i)
                restorers.push_back({*members_[i].process, members_[i].area});
            unmapRestorers(restorers, run.log);
        });
    if (standsBy_)
        return;  // the end of the stand-by has switched dispatch on
    inLanes([&run](Member& member) {
        forEachDispatch(member, [&](compel::Tracee& thread, const compel::UserDispatch& dispatch) {
            attempt(run, *member.task, [&] { thread.setUserDispatch(dispatch); });
        });
    });
}

/// Sets the dumpable flag of the images. From then on, other processes of the same user may read and change the process
/// (ptrace(2)). So all processes must have their credentials.
void ResumedTree::show(const RestoreRun& run, Member& member) {
    if (!becomesDumpable(run, *member.task))
        return;
    try {
        makeDumpable(*member.process);
    } catch (const compel::TraceeGone&) {
        return;  // ignored: only an outside process can have killed the process
    }
}

/// Calls attempt() for each process, with its member.
template <typename Work>
void ResumedTree::forEachLiving(const RestoreRun& run, const Work& work) {
    inLanes([&](Member& member) { attempt(run, *member.task, [&] { work(member); }); });
}

void ResumedTree::stop(Member& member, bool stopAll) {
    const int signal = stopSignalFor(*member.task, stopAll);
    if (signal == 0)
        return;
    member.stopped = true;
    member.process->stopAsGroup(signal);
}

/// Begins the stand-by of all processes. Returns false, and begins none, if a thread can't be in stand-by: a thread
/// with a shadow stack.
bool ResumedTree::beginStandby(const RestoreRun& run, bool stopAll) {
    std::atomic<bool> possible{true};
    inLanes([&](Member& member) {
        ProcessStandby& standby = member.standby.emplace(
            *member.process, member.area, stopSignalFor(*member.task, stopAll), member.task->leaderEnded);
        // Seccomp filters of the process may forbid the calls.
        if (!run.content.seccomp.contains(member.task->pid))
            addFiles(run, *member.task->files, standby);
        forEachDispatch(member, [&](const compel::Tracee& thread, const compel::UserDispatch& dispatch) {
            standby.addDispatch(thread, dispatch);
        });
        try {
            if (possible && !standby.prepare())
                possible = false;
        } catch (const compel::TraceeGone&) {
            return;  // ignored: only an outside process can have killed the process
        }
    });
    if (!possible)
        return false;
    inLanes([](Member& member) {
        try {
            member.standby->begin();
        } catch (const compel::TraceeGone&) {
            return;  // ignored, for the same reason
        }
    });
    return true;
}

void ResumedTree::resumeTasks(const RestoreRun& run) {
    if (!finished_)
        endStandby(run);
    std::vector<HostPid> stopped;
    for (const Member& member : members_)
        if (member.stopped)
            stopped.emplace_back(member.process->pid());
    // Ignores errors: a thread that criu has resumed before has ended the process.
    forEachLiving(run, [](Member& member) {
        compel::FrozenProcess process = std::move(*member.process);
        member.process.reset();
        process.detach();
    });
    members_.clear();
    waitGroupStop(stopped);
}

bool ResumedTree::becomesDumpable(const RestoreRun& run, const model::Task& task) {
    const bool changes =
        run.nsContext.usernsOf(task) != nullptr || PrivilegeDrop::changesCredentials(task, run.start.credentials);
    return run.start.dumpable.needsSetting(**task.mm, changes);
}

}  // namespace criu::engine
