// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/dump/tasks/core_entry.hpp"

#include <compel/rseq.hpp>

#include <span>

#include "criu/engine/dump/tasks/thread_queries.hpp"
#include "criu/engine/restorer_room.hpp"
#include "criu/image/arena.hpp"
#include "criu/kernel/attributes.hpp"
#include "criu/kernel/proc/limits.hpp"
#include "criu/model/id_map.hpp"
#include "criu/model/thread_plan.hpp"
#include "criu/task/attributes.hpp"
#include "criu/task/limits.hpp"
#include "criu/task/registers.hpp"
#include "criu/task/scheduling.hpp"
#include "criu/task/seccomp.hpp"
#include "criu/task/security_label.hpp"
#include "images/core.hpp"
#include "images/fs.hpp"

namespace criu::engine {
namespace {

std::vector<std::vector<std::byte>> asBytes(const std::vector<siginfo_t>& signals) {
    std::vector<std::vector<std::byte>> out;
    for (const siginfo_t& info : signals) {
        const auto* const bytes = reinterpret_cast<const std::byte*>(&info);
        out.emplace_back(bytes, bytes + sizeof(info));
    }
    return out;
}

std::vector<std::byte> segmentsOf(const compel::Tracee& tracee) {
    const compel::ThreadSegments segments = tracee.threadSegments();
    const auto bytes = std::as_bytes(std::span(segments));
    return {bytes.begin(), bytes.end()};
}

std::optional<task::RseqRegistration> rseqOf(const compel::Tracee& tracee) {
    const auto found = tracee.rseq();
    if (!found)
        return std::nullopt;
    // The address of the critical section is 0: a system call, such as a query of criu, aborts the thread's critical
    // section.
    return task::RseqRegistration{found->address, found->size, found->signature, 0};
}

/// Adds values of files below /proc/PID. Omits a value if this kernel doesn't have its file.
void addProcValues(const FrozenTask& task, const model::IdMap& ids, TaskCoreEntry& process) {
    if (const auto uid = kernel::readLoginUid(task.dir)) {
        process.has_loginuid = 1;
        process.loginuid = ids.innerUid(*uid);
    }
    process.has_oom_score_adj = 1;
    process.oom_score_adj = kernel::readOomScoreAdj(task.dir);
    if (const auto nice = task::autogroupNice(task.dir, HostPid(task.stat.session) == task.pid())) {
        process.has_autogroup_nice = 1;
        process.autogroup_nice = *nice;
    }
    if (const auto filter = kernel::readCoredumpFilter(task.dir)) {
        process.has_coredump_filter = 1;
        process.coredump_filter = *filter;
    }
}

}  // namespace

TracedThread::TracedThread(const compel::FrozenThread& thread, const compel::BlobRun& run, bool compat)
    : tid(thread.tracee.tid()),
      registers(run.savedRegisters()),
      segments(compat ? segmentsOf(thread.tracee) : std::vector<std::byte>()),
      extended(run.savedExtendedState()),
      shadowStackPointer(thread.tracee.shadowStackPointer().value_or(0)),
      rseq(rseqOf(thread.tracee)),
      pending(thread.tracee.pendingSignals(compel::SignalQueue::Thread)),
      mask(run.savedMask()) {}

CoreEntry& threadEntry(const ThreadQueries& questions, const TracedThread& traced, pie::RemoteData& answers,
                       const kernel::TaskStatus& status, std::uint32_t cgroupSet, const CoreContext& context,
                       Arena& arena) {
    auto& core = *arena.make<CoreEntry>();
    auto& thread = *arena.make<ThreadCoreEntry>();
    core.thread_core = &thread;
    task::storeRegisters(std::as_bytes(std::span(&traced.registers.raw, 1)), traced.segments, traced.extended,
                         traced.shadowStackPointer, core, arena);
    questions.signalStack.store(answers, thread, arena);
    questions.state.store(answers, traced.tid, status.name, traced.rseq, core, arena);
    questions.controls.store(answers, thread, arena);
    questions.secureBits.store(answers, status, context.ids, thread, arena);
    if (questions.dispatch) {
        thread.user_dispatch = arena.make<UserDispatch>();
        thread.user_dispatch->selector = questions.dispatch->selector;
        thread.user_dispatch->start = questions.dispatch->start;
        thread.user_dispatch->size = questions.dispatch->size;
    }
    task::storeScheduling(traced.tid, context.onlineCpus, context.usualSlice, thread, arena);
    thread.signals_p = task::storeSignalQueue(asBytes(traced.pending), status.pending, arena);
    thread.has_cg_set = 1;
    thread.cg_set = cgroupSet;
    task::storeSeccomp(status.seccomp, questions.seccomp, thread);
    return core;
}

CoreEntry& endedLeaderEntry(FrozenTask& task, const ThreadQueries& questions, pie::RemoteData& answers,
                            std::uint32_t cgroupSet, const CoreContext& context, Arena& arena) {
    auto& core = *arena.make<CoreEntry>();
    auto& thread = *arena.make<ThreadCoreEntry>();
    core.mtype = task::coreMachine();
    core.thread_core = &thread;
    thread.comm = arena.string(task.status.name);
    questions.secureBits.store(answers, task.status, context.ids, thread, arena);
    task::storeScheduling(task.pid(), context.onlineCpus, context.usualSlice, thread, arena);
    thread.has_cg_set = 1;
    thread.cg_set = cgroupSet;
    return core;
}

void addProcess(FrozenTask& task, ThreadQueries& questions, pie::RemoteData& answers, std::uint64_t mask,
                const CoreContext& context, kernel::ProcBuffer& buffer, CoreEntry& core, MmEntry& mm, Arena& arena) {
    auto& process = *arena.make<TaskCoreEntry>();
    core.tc = &process;
    process.task_state = static_cast<std::uint32_t>(task.state);
    process.personality = questions.controls.personality(answers);
    process.flags = task.stat.flags;
    process.exit_code = task.leaderEnded() ? static_cast<std::uint32_t>(task.stat.exitCode) : 0;
    process.blk_sigset = mask;
    process.comm = arena.string(task.status.name);
    questions.process->actions.store(answers, process, arena);
    questions.process->timers.store(answers, process, arena);
    questions.process->attributes.store(answers, task.process->threads().size(), context.onlineCpus, process, mm);
    task.isSubreaper = process.child_subreaper != 0;
    questions.process->localTable.refuse(answers);
    task::storeLimits(task.limits(buffer), process, arena);
    process.signals_s =
        task::storeSignalQueue(asBytes(questions.thread.tracee.pendingSignals(compel::SignalQueue::Process)),
                               task.status.sharedPending, arena);
    addProcValues(task, context.ids, process);
    requireRestorerRoom(core, mm, task.process->threads().size() + (task.leaderEnded() ? 1 : 0));
    if (task.state == model::TaskState::Stopped) {
        process.has_stop_signo = 1;
        process.stop_signo = static_cast<std::uint32_t>(task.stopSignal);
    }
}

void addObjects(const model::ThreadObjects& objects, const std::map<std::uint32_t, FsEntry>& paths,
                ThreadCoreEntry& thread, Arena& arena) {
    if (objects.fs != 0) {
        thread.has_fs_id = 1;
        thread.fs_id = objects.fs;
        thread.fs = arena.make<FsEntry>();
        *thread.fs = paths.at(objects.fs);
    }
    if (objects.sysvsem != 0) {
        thread.has_sysvsem_id = 1;
        thread.sysvsem_id = objects.sysvsem;
    }
}

void addPersonality(std::uint32_t own, std::uint32_t leaders, ThreadCoreEntry& thread) {
    if (own == leaders)
        return;
    thread.has_personality = 1;
    thread.personality = own;
}

void addLabel(const FrozenTask& task, HostPid tid, CoreEntry& core, Arena& arena) {
    if (task.labels == task::LabelModule::None)
        return;
    if (const auto label = task::securityLabel(task.dir.thread(tid.value)))
        task::storeLabel(*label, task.labels, *core.thread_core->creds, arena);
}

CoreEntry& deadEntry(const FrozenTask& task, Arena& arena) {
    auto& core = *arena.make<CoreEntry>();
    auto& process = *arena.make<TaskCoreEntry>();
    core.mtype = task::coreMachine();
    core.tc = &process;
    process.task_state = static_cast<std::uint32_t>(model::TaskState::Dead);
    process.exit_code = static_cast<std::uint32_t>(task.stat.exitCode);
    process.flags = task.stat.flags;
    process.comm = arena.string(task.status.name);
    return core;
}

}  // namespace criu::engine
