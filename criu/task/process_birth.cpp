// SPDX-License-Identifier: GPL-2.0-only
#include "criu/task/process_birth.hpp"

#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <optional>
#include <set>
#include <thread>
#include <utility>

#include "criu/base/error.hpp"
#include "criu/kernel/proc/pid_limit.hpp"
#include "criu/kernel/proc/procdir.hpp"
#include "criu/kernel/proc/stat.hpp"
#include "criu/kernel/proc/status.hpp"
#include "criu/model/nested_pids.hpp"

namespace criu::engine {
namespace {

/// Returns all pids of the images, in all pid namespaces.
std::set<pid_t> numbersOf(const model::ProcessTree& tree) {
    std::set<pid_t> numbers;
    for (const auto& task : tree.tasks) {
        numbers.insert({task->pid.value, task->pgid.value, task->sid.value});
        for (const model::Thread& thread : task->threads)
            numbers.insert(thread.tid.value);
    }
    for (const auto& space : tree.nested().all())
        for (const auto& [who, number] : space->numbers)
            numbers.insert({who.value, number});
    return numbers;
}

/// Calls clone3(2) with chosen pids. It returns in the caller and in the new process, like fork(2).
pid_t clonePid(const std::vector<pid_t>& pids, std::uint64_t flags) {
    clone_args args{};
    args.flags = flags;
    args.exit_signal = (flags & CLONE_PARENT) != 0 ? 0 : SIGCHLD;
    args.set_tid = reinterpret_cast<std::uint64_t>(pids.data());
    args.set_tid_size = pids.size();
    return static_cast<pid_t>(::syscall(SYS_clone3, &args, sizeof(args)));
}

/// Returns true if /proc shows the pids of the pid namespace `space`, or if criu can't find out.
bool hasPidsOf(const kernel::ProcDir& proc, const std::string& space) {
    try {
        return proc.open(1).readLink("ns/pid") == space;
    } catch (const Error&) {
        return true;
    }
}

/// Returns the process with the pid `pid` in the pid namespace `space`. /proc belongs to a pid namespace above `space`.
std::optional<kernel::TaskStat> holderIn(const kernel::ProcDir& proc, const std::string& space, pid_t pid) {
    kernel::ProcBuffer buffer;
    for (const pid_t candidate : proc.processes()) {
        try {
            const kernel::ProcPid process = proc.open(candidate);
            if (kernel::readStatus(process, buffer).innermostPid() != pid || process.readLink("ns/pid") != space)
                continue;
            kernel::TaskStat found = kernel::readStat(process, buffer);
            found.pid = pid;
            return found;
        } catch (const Error&) {
            // Ignores the failure: the process has ended.
        }
    }
    return std::nullopt;
}

/// Returns the process that has a pid; nullopt if criu finds none. Then the pid may be free, or be the id of a group or
/// session. If `nested` is true, the pid is a number of /proc's namespace. If it is false, the pid is a number of the
/// namespace for children, which may come from --inherit-fd.
std::optional<kernel::TaskStat> holderOf(pid_t pid, bool nested) {
    try {
        const kernel::ProcDir proc;
        kernel::ProcBuffer buffer;
        if (!nested)
            if (const std::string space = proc.self().readLink("ns/pid_for_children"); !hasPidsOf(proc, space))
                return holderIn(proc, space, pid);
        return kernel::readStat(proc.open(pid), buffer);
    } catch (const Error&) {
        return std::nullopt;
    }
}

/// Returns true if a process is ending or a zombie, which is usual just after a dump.
bool isEnding(const kernel::TaskStat& task) {
    constexpr std::uint32_t kExiting = 0x4;  // PF_EXITING
    return task.state == kernel::TaskState::Zombie || task.state == kernel::TaskState::Dead ||
           (task.flags & kExiting) != 0;
}

/// Returns a process whose process group or session has the id `number`; nullopt if none exists.
std::optional<kernel::TaskStat> memberOf(pid_t number) {
    for (const pid_t pid : kernel::ProcDir().processes()) {
        const auto task = holderOf(pid, true);
        if (task && (task->pgrp == number || task->session == number))
            return task;
    }
    return std::nullopt;
}

/// Returns a description of the process that has a pid, for messages.
std::string describeHolder(const kernel::TaskStat& task, pid_t pid) {
    const std::string name = task.pid == pid
                                 ? task.comm
                                 : fmt::format("the process group or session of process {} ({})", task.pid, task.comm);
    return isEnding(task) ? fmt::format("{}, ended, but not waited for by process {}", name, task.ppid) : name;
}

}  // namespace

pid_t createWithPid(const std::vector<pid_t>& numbers, std::uint64_t flags, Log& log) {
    const pid_t wanted = numbers.back();
    using Clock = std::chrono::steady_clock;
    constexpr auto kMoments = std::chrono::seconds(2);
    constexpr auto kPatience = std::chrono::seconds(20);
    constexpr auto kSilence = std::chrono::seconds(1);
    constexpr auto kPause = std::chrono::milliseconds(1);
    constexpr auto kLongPause = std::chrono::milliseconds(20);
    const auto begin = Clock::now();
    bool warned = false;
    for (;;) {
        const auto waited = Clock::now() - begin;
        const bool moments = waited < kMoments;
        // Waits for a dumped process that is ending. clone3(2) detects a taken pid only after it has copied the whole
        // process, so repeated clones would take time from the processes that end.
        if (moments && ::kill(wanted, 0) == 0)
            if (const auto holder = holderOf(wanted, numbers.size() > 1); holder && isEnding(*holder)) {
                std::this_thread::sleep_for(kPause);
                continue;
            }
        const pid_t pid = clonePid(numbers, flags);
        if (pid >= 0)
            return pid;
        const int code = errno;
        if (code == EAGAIN &&
            moments) {  // criu's threads that read memory count for the limit of processes, and end soon
            std::this_thread::sleep_for(kPause);
            continue;
        }
        if (code != EEXIST) {
            Error error(code, fmt::format("create process {}", wanted));
            if (code == EAGAIN)
                error.addHint(
                    "raise pids.max of its control groups, or the limit of processes of its user (ulimit -u)");
            throw error;
        }
        auto holder = holderOf(wanted, numbers.size() > 1);
        if (!moments && !holder)
            holder = memberOf(wanted);
        if (waited < kPatience && (!holder || isEnding(*holder))) {  // no holder: the process has just ended
            if (waited >= kSilence && holder && !std::exchange(warned, true))
                log.warn("Waiting for pid {}, at most {} s: the pid is taken by {}", wanted, kPatience.count(),
                         describeHolder(*holder, wanted));
            std::this_thread::sleep_for(moments ? kPause : kLongPause);
            continue;
        }
        Error error(EEXIST, fmt::format("create process {}: the pid is taken by {}", wanted,
                                        holder ? describeHolder(*holder, wanted) : "a process group or session"));
        // Advises to end the parent of a zombie, because a zombie itself can't be ended. If the parent is an init, it
        // must reap its children.
        const bool ending = holder && isEnding(*holder);
        error.addHint(fmt::format("{}, or restore in a new pid namespace: add --new-pidns",
                                  !ending             ? std::string("end that process")
                                  : holder->ppid == 1 ? std::string("have process 1 wait for its children")
                                                      : fmt::format("end process {}", holder->ppid)));
        throw error;
    }
}

pid_t createHelperProcess(const model::ProcessTree& tree, unsigned depth, std::uint64_t flags) {
    const std::set<pid_t> needed = numbersOf(tree);
    // Tries pids in descending order, because usual trees have low pids.
    for (pid_t candidate = kernel::PidLimit().highest(); candidate > 1; --candidate) {
        // Checks the pid first, because clone3(2) detects a used pid only after it has copied the whole process.
        if (needed.contains(candidate) || ::kill(candidate, 0) == 0)
            continue;
        const pid_t pid = clonePid(std::vector<pid_t>(depth + 1, candidate), flags);
        if (pid >= 0)
            return pid;
        if (errno != EEXIST)
            failErrno("create a helper with pid {}", candidate);
    }
    fail("no pid is free for a helper");
}

}  // namespace criu::engine
