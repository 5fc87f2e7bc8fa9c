// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/dump_task.hpp"

#include <elf.h>
#include <sys/syscall.h>

#include <compel/error.hpp>
#include <compel/injection.hpp>
#include <compel/rseq.hpp>

#include <cstring>

#include "criu/base/error.hpp"
#include "criu/base/mapping.hpp"
#include "criu/base/thread_pool.hpp"
#include "criu/engine/step_results.hpp"
#include "criu/kernel/attributes.hpp"
#include "criu/kernel/limits.hpp"
#include "criu/kernel/timers.hpp"
#include "criu/pie/enter.hpp"
#include "criu/pie/program_builder.hpp"
#include "criu/task/attributes.hpp"
#include "criu/task/compat.hpp"
#include "criu/task/credentials.hpp"
#include "criu/task/limits.hpp"
#include "criu/task/registered_rings.hpp"
#include "criu/task/registers.hpp"
#include "criu/task/scheduling.hpp"
#include "criu/task/signals.hpp"
#include "criu/task/thread_controls.hpp"
#include "criu/task/thread_state.hpp"
#include "criu/task/timers.hpp"

namespace criu::engine {
namespace {

/// Threads that are asked at the same time.
/// Memory for one thread's questions, answers and stack; the leader's process questions take a few more.
constexpr std::size_t kRoomPerThread = 4096 + pie::kStackSize;
constexpr std::size_t kRoomForProcess = 32768;

std::vector<std::vector<std::byte>> asBytes(const std::vector<siginfo_t>& signals) {
    std::vector<std::vector<std::byte>> out;
    for (const siginfo_t& info : signals) {
        const auto* const bytes = reinterpret_cast<const std::byte*>(&info);
        out.emplace_back(bytes, bytes + sizeof(info));
    }
    return out;
}

/// Questions to a process as a whole, asked in its leader.
struct ProcessQuestions {
    ProcessQuestions(const FrozenTask& task, kernel::ProcBuffer& buffer, pie::StepList& steps, pie::RemoteData& data)
        : actions(task.compat, steps, data),
          timers(kernel::readTimers(task.dir, buffer), steps, data),
          attributes(steps, data),
          localTable(steps, data) {}

    task::SignalActionQuery actions;
    task::TimerQuery timers;
    task::AttributesQuery attributes;
    task::LocalTableQuery localTable;
};

/// One thread that is being asked.
struct Interview {
    Interview(compel::FrozenThread& who, const FrozenTask& task, pie::StepList& steps, pie::RemoteData& data)
        : thread(who),
          rings(task.hasRings, steps, data),
          signalStack(steps, data),
          state(task.compat, steps, data),
          controls(steps, data),
          secureBits(steps, data) {}

    compel::FrozenThread& thread;
    task::RegisteredRingsQuery rings;
    task::SignalStackQuery signalStack;
    task::ThreadStateQuery state;
    task::ThreadControlsQuery controls;
    task::SecureBitsQuery secureBits;
    task::SeccompDump::Place seccomp;
    std::optional<compel::UserDispatch> dispatch;
    std::optional<ProcessQuestions> process;
    std::optional<compel::BlobRun> run;
};

/// What tracing tells of a thread.
struct Found {
    pid_t tid = 0;
    compel::Registers registers;
    std::vector<std::byte> segments;
    std::vector<std::byte> extended;
    std::uint64_t shadowStackPointer = 0;
    std::optional<task::RseqRegistration> rseq;
    std::vector<siginfo_t> pending;
    std::uint64_t mask = 0;
    task::SeccompDump::Place seccomp;
};

/// Switches syscall user dispatch off for as long as it lives: it would catch the system calls made for criu.
class DispatchPause {
public:
    explicit DispatchPause(compel::FrozenProcess& process) {
        for (compel::FrozenThread& thread : process.threads()) {
            const auto found = thread.tracee.userDispatch();
            all_.emplace_back(&thread.tracee, found);
            if (found)
                thread.tracee.setUserDispatch(std::nullopt);
        }
    }
    ~DispatchPause() {
        for (const auto& [tracee, dispatch] : all_) {
            try {
                if (dispatch)
                    tracee->setUserDispatch(dispatch);
            } catch (const compel::Error&) {
                continue;  // the thread was killed
            }
        }
    }
    DispatchPause(const DispatchPause&) = delete;
    DispatchPause& operator=(const DispatchPause&) = delete;

    [[nodiscard]] const std::optional<compel::UserDispatch>& of(std::size_t thread) const {
        return all_[thread].second;
    }

private:
    std::vector<std::pair<compel::Tracee*, std::optional<compel::UserDispatch>>> all_;
};

class CoreDump {
public:
    CoreDump(FrozenTask& task, const TaskDumpContext& context, MmEntry& mm)
        : task_(task),
          images_(context.images),
          mm_(mm),
          log_(context.log),
          seccomp_(context.seccomp),
          cgroups_(context.cgroups),
          suspended_(context.seccompSuspended),
          onlineCpus_(context.onlineCpus),
          ids_(context.ids),
          semaphores_(context.semaphores) {}

    void run() {
        auto& threads = task_.process->threads();
        dispatch_.emplace(*task_.process);
        readSeccomp();
        leaderGroups_ = task_.dir.tryReadFile("cgroup").value_or("");
        leaderSet_ = cgroups_.setOf(kernel::parseCgroups(leaderGroups_));
        const std::size_t perThread = kRoomPerThread + (task_.hasRings ? task::RegisteredRingsQuery::kRoom : 0);
        const std::size_t room =
            pageAlignUp(kRoomForProcess + perThread * std::min(threads.size(), kThreadsAtOnce) + posixTimerRoom());
        compel::Injection injection(task_.process->leader(), pie::interpreterBlob(), room,
                                    task_.process->syscallInstruction());
        if (threads.size() > kThreadsAtOnce && availableCores() > 1)
            pool_.emplace(availableCores());
        for (std::size_t first = 0; first < threads.size(); first += kThreadsAtOnce)
            ask(injection, first, std::min(first + kThreadsAtOnce, threads.size()));
        if (semaphores_ != nullptr)
            askAdjustments(injection);
        injection.cure();
        if (pool_)
            pool_->wait();
        pool_.reset();
        log_.debug("pid {}: {} threads dumped", task_.pid(), threads.size());
    }

private:
    std::size_t posixTimerRoom() {
        constexpr std::size_t kRoomPerTimer = 3 * sizeof(pie::Step) + 64;
        return kernel::readTimers(task_.dir, buffer_).size() * kRoomPerTimer;
    }

    void ask(compel::Injection& injection, std::size_t first, std::size_t end) {
        const auto answers = std::make_shared<pie::RemoteData>(injection.data());
        pie::RemoteData& data = *answers;
        std::vector<std::unique_ptr<Interview>> interviews;
        std::vector<RemoteProgram> programs;
        for (std::size_t i = first; i < end; ++i) {
            pie::StepList steps;
            auto interview = std::make_unique<Interview>(task_.process->threads()[i], task_, steps, data);
            interview->seccomp = places_[i];
            interview->dispatch = dispatch_->of(i);
            if (i == 0)
                interview->process.emplace(task_, buffer_, steps, data);
            programs.push_back(placeProgram(steps, data, &interview->thread.tracee));
            interviews.push_back(std::move(interview));
        }
        std::vector<compel::BlobRun> runs = runPrograms(injection, data, programs);
        for (std::size_t i = 0; i < interviews.size(); ++i) {
            interviews[i]->run.emplace(std::move(runs[i]));
            interviews[i]->rings.refuse(data, interviews[i]->thread.tracee.tid());
            finish(std::move(interviews[i]), answers);
        }
    }

    /// The process itself asks for each, since adjustments are its own.
    void askAdjustments(compel::Injection& injection) {
        for (namespaces::SemaphoreSet& set : *semaphores_) {
            const auto found = namespaces::findAdjustments(set.values, [&](std::span<const sembuf> operations) {
                pie::RemoteData data(injection.data());
                pie::StepList steps;
                const std::uint64_t resultAt = data.reserve(sizeof(std::int64_t));
                const std::uint64_t at = data.put(std::as_bytes(operations));
                steps
                    .call(pie::Subject::Query, static_cast<std::uint64_t>(set.id()), SYS_semop, set.id(), at,
                          operations.size())
                    .judge = pie::Judge::Any;
                steps.add(pie::Op::StoreResult, pie::Subject::Query, 0, resultAt).judge = pie::Judge::Any;
                const RemoteProgram program = placeProgram(steps, data, &task_.process->leader());
                runPrograms(injection, data, {&program, 1});
                return static_cast<long>(data.local<std::int64_t>(resultAt));
            });
            if (!found) {
                log_.debug("pid {}: semaphore set {} can't be asked for adjustments", task_.pid(), set.id());
                continue;
            }
            for (const namespaces::SemaphoreAdjustment& adjustment : *found)
                set.adjustments.push_back({task_.pid(), adjustment});
        }
    }

    /// What tracing tells is read here; the rest, and the image, is other threads' work if there are many images to
    /// write.
    void finish(std::unique_ptr<Interview> interview, const std::shared_ptr<pie::RemoteData>& answers) {
        const std::shared_ptr<const Found> found = std::make_shared<Found>(lookAt(*interview));
        interview->run.reset();
        if (interview->process) {
            Arena arena;
            CoreEntry& core = store(*interview, *found, *answers, task_.status, leaderSet_, arena);
            storeProcess(*interview, *answers, found->mask, core, arena);
            write(found->tid, core);
            return;
        }
        const std::shared_ptr<const Interview> asked = std::move(interview);
        const auto complete = [this, found, asked, answers] {
            Arena arena;
            kernel::ProcBuffer buffer;
            const kernel::TaskStatus status = kernel::readThreadStatus(task_.dir, found->tid, buffer);
            CoreEntry& core = store(*asked, *found, *answers, status, setOf(found->tid, buffer), arena);
            core.thread_core->has_blk_sigset = 1;
            core.thread_core->blk_sigset = found->mask;
            write(found->tid, core);
        };
        if (pool_)
            pool_->submit(complete);
        else
            complete();
    }

    Found lookAt(const Interview& interview) const {
        const compel::Tracee& tracee = interview.thread.tracee;
        return {tracee.tid(),
                interview.run->savedRegisters(),
                task_.compat ? segmentsOf(tracee) : std::vector<std::byte>(),
                tracee.extendedState(),
                tracee.shadowStackPointer().value_or(0),
                rseqOf(tracee),
                tracee.pendingSignals(compel::SignalQueue::Thread),
                interview.run->savedMask(),
                interview.seccomp};
    }

    CoreEntry& store(const Interview& interview, const Found& found, pie::RemoteData& answers,
                     const kernel::TaskStatus& status, std::uint32_t cgroupSet, Arena& arena) const {
        auto& core = *arena.make<CoreEntry>();
        auto& thread = *arena.make<ThreadCoreEntry>();
        core.thread_core = &thread;
        task::storeRegisters(std::as_bytes(std::span(&found.registers.raw, 1)), found.segments, found.extended,
                             found.shadowStackPointer, core, arena);
        interview.signalStack.store(answers, thread, arena);
        interview.state.store(answers, found.tid, status.name, found.rseq, core, arena);
        interview.controls.store(answers, thread, arena);
        interview.secureBits.store(answers, status, ids_, thread, arena);
        if (interview.dispatch) {
            thread.user_dispatch = arena.make<UserDispatch>();
            thread.user_dispatch->selector = interview.dispatch->selector;
            thread.user_dispatch->start = interview.dispatch->start;
            thread.user_dispatch->size = interview.dispatch->size;
        }
        task::storeScheduling(found.tid, onlineCpus_, thread, arena);
        thread.signals_p = task::storeSignalQueue(asBytes(found.pending), arena);
        thread.has_cg_set = 1;
        thread.cg_set = cgroupSet;
        task::storeSeccomp(status.seccomp, found.seccomp, thread);
        return core;
    }

    [[nodiscard]] std::uint32_t setOf(pid_t tid, kernel::ProcBuffer& buffer) const {
        if (leaderGroups_.empty())
            return leaderSet_;
        const std::string_view groups = task_.dir.read(fmt::format("task/{}/cgroup", tid), buffer);
        return groups == leaderGroups_ ? leaderSet_ : cgroups_.setOf(kernel::parseCgroups(groups));
    }

    void write(pid_t tid, const CoreEntry& core) const {
        ImageWriter image = images_.create(ImageKind::Core, static_cast<std::uint64_t>(tid));
        image.write(core);
        image.finish();
    }

    /// Filters must be read by the thread that traces, and be known of all threads before any is written.
    void readSeccomp() {
        std::vector<task::SeccompChain> chains;
        bool any = false;
        for (const compel::FrozenThread& thread : task_.process->threads()) {
            chains.push_back(suspended_ ? thread.tracee.seccompFilters() : task::SeccompChain());
            any = any || !chains.back().empty();
        }
        places_.resize(chains.size());
        if (any)
            places_ = seccomp_.add(std::move(chains));
    }

    static std::vector<std::byte> segmentsOf(const compel::Tracee& tracee) {
        const compel::ThreadSegments segments = tracee.threadSegments();
        const auto bytes = std::as_bytes(std::span(segments));
        return {bytes.begin(), bytes.end()};
    }

    static std::optional<task::RseqRegistration> rseqOf(const compel::Tracee& tracee) {
        const auto found = tracee.rseq();
        if (!found)
            return std::nullopt;
        // A critical section was aborted when the thread was asked, so none is under way.
        return task::RseqRegistration{found->address, found->size, found->signature, 0};
    }

    void storeProcess(Interview& interview, pie::RemoteData& answers, std::uint64_t mask, CoreEntry& core,
                      Arena& arena) {
        auto& process = *arena.make<TaskCoreEntry>();
        core.tc = &process;
        process.task_state = static_cast<std::uint32_t>(task_.state);
        process.personality = kernel::readPersonality(task_.dir);
        process.flags = task_.stat.flags;
        process.blk_sigset = mask;
        process.comm = arena.string(task_.status.name);
        interview.process->actions.store(answers, process, arena);
        interview.process->timers.store(answers, process, arena);
        interview.process->attributes.store(answers, process, mm_);
        interview.process->localTable.refuse(answers);
        task::storeLimits(kernel::readLimits(task_.dir, buffer_), process, arena);
        process.signals_s = task::storeSignalQueue(
            asBytes(interview.thread.tracee.pendingSignals(compel::SignalQueue::Process)), arena);
        if (const auto uid = kernel::readLoginUid(task_.dir)) {
            process.has_loginuid = 1;
            process.loginuid = ids_.innerUid(*uid);
        }
        process.has_oom_score_adj = 1;
        process.oom_score_adj = kernel::readOomScoreAdj(task_.dir);
        if (const auto nice = task::autogroupNice(task_.dir, task_.stat.session == task_.pid())) {
            process.has_autogroup_nice = 1;
            process.autogroup_nice = *nice;
        }
        if (const auto filter = kernel::readCoredumpFilter(task_.dir)) {
            process.has_coredump_filter = 1;
            process.coredump_filter = *filter;
        }
        if (task_.state == model::TaskState::Stopped) {
            process.has_stop_signo = 1;
            process.stop_signo = static_cast<std::uint32_t>(task_.stopSignal);
        }
    }

    FrozenTask& task_;
    const ImageDir& images_;
    MmEntry& mm_;
    Log& log_;
    task::SeccompDump& seccomp_;
    cgroup::CgroupDump& cgroups_;
    std::optional<DispatchPause> dispatch_;
    std::string leaderGroups_;  ///< text of /proc/PID/cgroup, which is nearly always that of all threads
    std::uint32_t leaderSet_ = 0;
    bool suspended_;
    std::optional<std::size_t> onlineCpus_;
    const model::IdMap& ids_;
    std::vector<namespaces::SemaphoreSet>* semaphores_;
    std::vector<task::SeccompDump::Place> places_;  ///< by thread
    kernel::ProcBuffer buffer_;
    std::optional<ThreadPool> pool_;
};

}  // namespace

void dumpCores(FrozenTask& task, const TaskDumpContext& context, MmEntry& mm) {
    CoreDump(task, context, mm).run();
}

void dumpDead(const FrozenTask& task, const ImageDir& images) {
    CoreEntry core = CORE_ENTRY__INIT;
    TaskCoreEntry process = TASK_CORE_ENTRY__INIT;
    std::string name = task.status.name;
    core.mtype = task::coreMachine();
    core.tc = &process;
    process.task_state = static_cast<std::uint32_t>(model::TaskState::Dead);
    process.exit_code = static_cast<std::uint32_t>(task.stat.exitCode);
    process.flags = task.stat.flags;
    process.comm = name.data();
    ImageWriter image = images.create(ImageKind::Core, static_cast<std::uint64_t>(task.pid()));
    image.write(core);
    image.finish();
}

void fillMemoryLayout(const FrozenTask& task, MmEntry& mm, Arena& arena) {
    const kernel::TaskStat& stat = task.stat;
    mm.mm_start_code = stat.startCode;
    mm.mm_end_code = stat.endCode;
    mm.mm_start_data = stat.startData;
    mm.mm_end_data = stat.endData;
    mm.mm_start_stack = stat.startStack;
    mm.mm_start_brk = stat.startBrk;
    mm.mm_arg_start = stat.argStart;
    mm.mm_arg_end = stat.argEnd;
    mm.mm_env_start = stat.envStart;
    mm.mm_env_end = stat.envEnd;
    std::vector<std::uint64_t> auxv = kernel::readAuxv(task.dir);
    // The end mark isn't kept: readers bound the vector's length tightly, and the kernel sets the mark by itself.
    while (auxv.size() >= 2 && auxv[auxv.size() - 2] == AT_NULL)
        auxv.resize(auxv.size() - 2);
    mm.n_mm_saved_auxv = auxv.size();
    mm.mm_saved_auxv = arena.copy(std::span<const std::uint64_t>(auxv));
}

}  // namespace criu::engine
