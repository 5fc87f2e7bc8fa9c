// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/restore_resume.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <compel/error.hpp>
#include <compel/remote_memory.hpp>
#include <compel/remote_syscalls.hpp>

#include <algorithm>
#include <cstring>
#include <unordered_map>

#include "criu/base/error.hpp"
#include "criu/cgroup/set_of.hpp"
#include "criu/engine/last_steps.hpp"
#include "criu/engine/stopped.hpp"
#include "criu/kernel/stat.hpp"
#include "criu/task/attributes.hpp"
#include "criu/task/registers.hpp"
#include "criu/task/scheduling.hpp"

namespace criu::engine {
namespace {

std::uint64_t signalMaskOf(const CoreEntry& core) {
    if (core.tc != nullptr)
        return core.tc->blk_sigset;
    return core.thread_core->has_blk_sigset != 0 ? core.thread_core->blk_sigset : 0;
}

compel::Registers asRegisters(const std::vector<std::byte>& general) {
    compel::Registers registers;
    if (general.size() != sizeof(registers.raw))
        fail("register set of {} bytes, not {}", general.size(), sizeof(registers.raw));
    std::memcpy(&registers.raw, general.data(), general.size());
    return registers;
}

compel::ThreadSegments asSegments(const std::vector<std::byte>& bytes) {
    compel::ThreadSegments segments{};
    if (bytes.size() != sizeof(segments))
        fail("segments of {} bytes, not {}", bytes.size(), sizeof(segments));
    std::memcpy(&segments, bytes.data(), bytes.size());
    return segments;
}

/// The restorer's code isn't needed any more: its place is used for arguments.
void setPosixLocks(compel::RemoteSyscalls& calls, const AreaSlot& area,
                   const std::vector<const FileLockEntry*>& locks) {
    if (locks.empty())
        return;
    const compel::RemoteMemory memory(calls.tracee().tid());
    for (const FileLockEntry* const lock : locks) {
        const struct flock range = files::asPosixLock(*lock);
        memory.write(area.start, std::as_bytes(std::span(&range, 1)));
        const std::int64_t result = calls.call(SYS_fcntl, lock->fd, F_SETLK, area.start);
        if (compel::isSyscallError(result))
            files::failLock(static_cast<int>(-result), *lock);
    }
}

/// Whom the kernel has given an orphan to depends on who reaps at that moment.
void requireParent(const model::Task& task, const PidMap& pids) {
    if (task.ppid == 0)
        return;
    kernel::ProcBuffer buffer;
    const pid_t parent = kernel::readStat(kernel::ProcDir().open(pids.outside(task.pid)), buffer).ppid;
    if (parent != pids.outside(task.ppid))
        fail("is a child of {} instead of {}", parent, task.ppid);
}

}  // namespace

ResumedTree::ResumedTree(const RestoreRun& run, const PidMap& pids) {
    std::unordered_map<pid_t, const AreaSlot*> areas;
    for (const AreaSlot& area : run.control.areas())
        areas.emplace(area.pid, &area);
    for (const auto& task : run.content.tree.tasks) {
        if (!task->alive())
            continue;
        const auto area = areas.find(task->pid);
        const ErrorContext context([&] { return fmt::format("process {}", task->pid); });
        take(run, pids, *task, area != areas.end() ? area->second : nullptr);
    }
}

void ResumedTree::take(const RestoreRun& run, const PidMap& pids, const model::Task& task, const AreaSlot* area) {
    compel::FreezeOptions options;
    options.seize.killOnExit = true;
    const auto seccomp = run.content.seccomp.find(task.pid);
    options.seize.suspendSeccomp = seccomp != run.content.seccomp.end();
    const pid_t pid = pids.outside(task.pid);
    processes_.push_back(compel::FrozenProcess::freeze(pid, options));
    tasks_.push_back(&task);
    compel::FrozenProcess& process = processes_.back();
    const kernel::ProcPid dir = kernel::ProcDir().open(pid);
    Threads threads;
    for (compel::FrozenThread& thread : process.threads())
        threads.emplace(pids.insideOf(dir, thread.tracee.tid()), &thread);
    {
        compel::RemoteSyscalls calls(process.leader(), process.syscallInstruction());
        if (area == nullptr)
            fail("didn't say where its restorer is");
        if (task.files->users.size() > 1 && task.files->users.front() == task.pid)
            calls.checkedCall(
                "close criu's descriptors", SYS_close_range,
                {static_cast<std::uint64_t>(run.service.first), static_cast<std::uint64_t>(run.service.last)});
        setPosixLocks(calls, *area, run.files.locks().ofProcess(task.pid));
        calls.munmap(area->start, area->size);
    }
    requireParent(task, pids);
    moveThreads(task, threads, run.cgroups);
    if (seccomp != run.content.seccomp.end())
        finishUnderSeccomp(process, threads, task, seccomp->second, run.credentials);
    setThreads(task, threads);
    if (run.surroundings.ids.isOwnNamespace()) {
        task::restorePrivilegedAttributes(*task.core().tc, dir);
        for (const model::Thread& thread : task.threads)
            task::applyScheduling(threads.at(thread.tid)->tracee.tid(), *(*thread.core)->thread_core);
    }
}

ResumedTree::Ender::~Ender() {
    for (const compel::FrozenProcess& process : processes_)
        ::kill(process.pid(), SIGKILL);
}

void ResumedTree::moveThreads(const model::Task& task, const Threads& threads, cgroup::CgroupRestore& cgroups) {
    const std::uint32_t ofProcess = cgroup::setOf(task.core());
    for (const model::Thread& thread : task.threads)
        if (const std::uint32_t set = cgroup::setOf(**thread.core); set != 0 && set != ofProcess)
            if (const auto made = threads.find(thread.tid); made != threads.end())
                cgroups.moveThread(made->second->tracee.tid(), set, ofProcess);
}

void ResumedTree::setThreads(const model::Task& task, const Threads& threads) {
    if (threads.size() != task.threads.size())
        fail("has {} threads instead of {}", threads.size(), task.threads.size());
    for (const model::Thread& wanted : task.threads) {
        const auto found = threads.find(wanted.tid);
        if (found == threads.end())
            fail("lacks thread {}", wanted.tid);
        compel::FrozenThread& thread = *found->second;
        const CoreEntry& core = **wanted.core;
        const task::RegisterSets sets = task::loadRegisters(core);
        if (!sets.segments.empty())
            thread.tracee.setThreadSegments(asSegments(sets.segments));
        thread.tracee.setRegisters(asRegisters(sets.general));
        if (!sets.extended.empty())
            thread.tracee.setExtendedState(sets.extended);
        if (sets.shadowStackPointer != 0)
            thread.tracee.setShadowStackPointer(sets.shadowStackPointer);
        if (const UserDispatch* const dispatch = core.thread_core->user_dispatch; dispatch != nullptr)
            thread.tracee.setUserDispatch(compel::UserDispatch{dispatch->selector, dispatch->start, dispatch->size});
        thread.tracee.setSignalMask(signalMaskOf(core));
    }
}

void ResumedTree::letGo(bool stopAll) {
    // Whoever dies now was killed from outside; that must not keep the others.
    std::vector<pid_t> stopping;
    for (std::size_t i = 0; i < processes_.size(); ++i) {
        const compel::FrozenProcess& process = processes_[i];
        const model::Task& task = *tasks_[i];
        if (stopAll || task.state == model::TaskState::Stopped) {
            const TaskCoreEntry& core = *task.core().tc;
            const int signal = core.has_stop_signo != 0 ? static_cast<int>(core.stop_signo) : SIGSTOP;
            ::kill(process.pid(), stopAll ? SIGSTOP : signal);
            stopping.push_back(process.pid());
        }
    }
    for (compel::FrozenProcess& process : processes_) {
        try {
            process.detach();
        } catch (const compel::Error&) {
            // A thread that was let go first has ended the process.
        }
    }
    processes_.clear();
    awaitStopped(stopping);
}

}  // namespace criu::engine
