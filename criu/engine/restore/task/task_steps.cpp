// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/restore/task/task_steps.hpp"

#include <linux/sched.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <vector>

#include "criu/engine/restore/birth/restore_start.hpp"
#include "criu/engine/restore/restore_images.hpp"
#include "criu/engine/restore/restore_run.hpp"
#include "criu/engine/restore/task/task_directories.hpp"
#include "criu/model/nested_pids.hpp"
#include "criu/model/process_tree.hpp"
#include "criu/model/thread_plan.hpp"
#include "criu/namespaces/namespace_restore.hpp"
#include "criu/pie/program_builder.hpp"
#include "criu/task/attributes.hpp"
#include "criu/task/limits.hpp"
#include "criu/task/signals.hpp"
#include "criu/task/thread_controls.hpp"
#include "criu/task/thread_state.hpp"
#include "criu/task/timers.hpp"
#include "images/core.hpp"
#include "images/mm.hpp"

namespace criu::engine {

TaskSteps::TaskSteps(const RestoreRun& run, const model::Task& task, const ThreadDirectories& directories,
                     const StepReports& reports, pie::RemoteData& data)
    : run_(run),
      task_(task),
      directories_(directories),
      reports_(reports),
      data_(data),
      threads_(run, task),
      threadsReady_(data.reserve(sizeof(std::uint32_t))),
      earlyBegun_(data.reserve(sizeof(std::uint32_t))),
      earlyGo_(data.reserve(sizeof(std::uint32_t))) {
    const std::set<TreePid> early = model::earlyThreads(task);
    for (std::size_t i = 0; i < task.threads.size(); ++i)
        if (early.contains(task.threads[i].tid))
            early_.insert(i);
}

/// Adds a step that gives the thread private copies of objects that it would share with its creator (unshare(2)).
void TaskSteps::composeUnsharing(const model::ThreadBirth& birth, pie::StepList& steps) {
    const int flags = (birth.unsharesFs ? CLONE_FS : 0) | (birth.unsharesSysvsem ? CLONE_SYSVSEM : 0);
    if (flags != 0)
        steps.call(pie::Subject::Unshare, static_cast<std::uint64_t>(task_.threads[birth.thread].tid.value),
                   SYS_unshare, flags);
    if (birth.unsharesFs)
        directories_.addSteps(birth.thread, steps, data_);
}

void TaskSteps::composeSpawning(std::span<const pie::ThreadStart> starts, pie::StepList& steps) {
    if (!starts.empty())
        steps.add(pie::Op::SpawnThreads, pie::Subject::Thread, starts.size(), data_.put(std::as_bytes(starts)),
                  starts.size());
}

/// Completes the steps of a thread, and places its program in the data. `spawned`: threads that this thread creates.
std::uint64_t TaskSteps::placeThread(const model::ThreadBirth& birth, std::span<const pie::ThreadStart> spawned,
                                     pie::StepList& steps) {
    composeUnsharing(birth, steps);
    threads_.compose(task_.threads[birth.thread], steps, data_);
    composeSpawning(spawned, steps);
    steps.add(pie::Op::FutexAdd, pie::Subject::Thread, 0, threadsReady_, 1);
    return steps.place(data_, reports_.failureAt, reports_.eventsAt, true);
}

void TaskSteps::awaitEarlyThreads(std::size_t count, pie::StepList& steps) {
    if (count != 0)
        steps.add(pie::Op::FutexWait, pie::Subject::Thread, 0, earlyBegun_, count);
}

/// Adds the program of an early thread. It sets some attributes that other threads inherit from the leader at birth.
void TaskSteps::addEarly(const model::ThreadBirth& birth, std::span<const pie::ThreadStart> spawned) {
    pie::StepList steps;
    steps.add(pie::Op::FutexAdd, pie::Subject::Thread, 0, earlyBegun_, 1);
    steps.add(pie::Op::FutexWait, pie::Subject::Thread, 0, earlyGo_, 1);
    task::restorePersonality(task_.core().tc->personality, steps);
    const std::uint64_t program = placeThread(birth, spawned, steps);
    earlyPrograms_.push_back(
        {task_.threads[birth.thread].tid, program, data_.reserve(pie::kStackSize) + pie::kStackSize});
}

pie::ThreadStart TaskSteps::startOf(const model::ThreadBirth& birth, std::span<const pie::ThreadStart> spawned) {
    const model::Thread& thread = task_.threads[birth.thread];
    pie::StepList mine;
    pie::ThreadStart start;
    start.program = placeThread(birth, spawned, mine);
    clone_args args{};
    args.flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM;
    const std::vector<pid_t> numbers = run_.content.tree.nested().numbersOf(thread.tid);
    args.set_tid = data_.put(std::as_bytes(std::span(numbers)));
    args.set_tid_size = numbers.size();
    args.stack = data_.reserve(pie::kStackSize);
    args.stack_size = pie::kStackSize;
    static_assert(sizeof(start.cloneArgs) <= sizeof(args));
    std::memcpy(start.cloneArgs, &args, sizeof(start.cloneArgs));
    return start;
}

void TaskSteps::composeThreads(pie::StepList& steps) {
    const std::vector<model::ThreadBirth> births = model::planThreads(model::objectsOf(task_), early_);
    if (births.empty())
        return;
    // Goes backwards: the program of a creator contains the addresses of the programs of its threads, so these must be
    // placed first.
    std::vector<std::vector<pie::ThreadStart>> spawnedBy(task_.threads.size());
    const auto takeSpawned = [&](std::size_t creator) {
        std::vector<pie::ThreadStart> spawned = std::move(spawnedBy[creator]);
        std::reverse(spawned.begin(), spawned.end());
        return spawned;
    };
    for (auto birth = births.rbegin(); birth != births.rend(); ++birth) {
        const std::vector<pie::ThreadStart> spawned = takeSpawned(birth->thread);
        if (early_.contains(birth->thread))
            addEarly(*birth, spawned);
        else
            spawnedBy[birth->creator].push_back(startOf(*birth, spawned));
    }
    if (!early_.empty())
        steps.add(pie::Op::FutexAdd, pie::Subject::Thread, 0, earlyGo_, 1);
    composeSpawning(takeSpawned(0), steps);
    steps.add(pie::Op::FutexWait, pie::Subject::Thread, 0, threadsReady_, births.size());
}

void TaskSteps::enterEarly(const EarlyThreads& threads, std::uint64_t entry) const {
    for (const EarlyProgram& own : earlyPrograms_)
        threads.at(own.thread)->enter(entry, own.program, own.stackTop);
}

/// Adds steps that close all descriptors of criu, except the descriptor of the user namespace that the process enters
/// later.
void TaskSteps::composeClosing(pie::StepList& steps) const {
    const auto close = [&steps](int first, int last) {
        if (first <= last)
            steps.call(pie::Subject::CloseFd, static_cast<std::uint64_t>(first), SYS_close_range, first, last, 0);
    };
    const ServiceFds& service = run_.service;
    const UniqueFd* const users = run_.nsContext.usernsOf(task_);
    if (users == nullptr)
        return close(service.first, service.last);
    close(service.first, users->get() - 1);
    close(users->get() + 1, service.last);
}

void TaskSteps::compose(std::uint32_t ofRings, pie::StepList& steps) {
    const model::Thread& leader = task_.threads.front();
    const TaskCoreEntry& core = *(*leader.core)->tc;

    task::restoreAttributes(core, **task_.mm, steps);
    task::restoreSignalActions(core, steps, data_);
    if (!task_.lateThreads)
        composeThreads(steps);
    // Closes criu's descriptors here, because all threads have entered their directories. If several processes share
    // the descriptor table, the coordinator closes them when all these processes are parked.
    if (task_.files->users.size() == 1)
        composeClosing(steps);
    // New threads inherit attributes of the leader, so a leader with late threads sets its own in the privilege drop.
    if (!task_.lateThreads)
        threads_.compose(leader, steps, data_);
    const pid_t number = threads_.numberOf(task_.pid);
    task::restoreSignalQueue(core.signals_s, true, number, number, steps, data_);
    if (!task_.lateThreads)
        threads_.composeTimers(steps, data_);
    // Sets the limits after timers and queued signals are created, because the kernel compares their number with
    // RLIMIT_SIGPENDING.
    // Limits that other code sets later. PrivilegeDrop sets RLIMIT_NPROC, and RLIMIT_SIGPENDING after the signals and
    // timers of late threads exist.
    std::uint32_t later = 1U << RLIMIT_NPROC | ofRings;
    if (task_.lateThreads)
        later |= 1U << RLIMIT_SIGPENDING;
    // The process still needs a free descriptor number for a userfaultfd, so ResumedTree sets RLIMIT_NOFILE later.
    if (run_.lazy != nullptr)
        later |= 1U << RLIMIT_NOFILE;
    task::restoreLimits(core, {run_.start.limits, run_.start.limitsBefore}, later, steps, data_);
}

}  // namespace criu::engine
