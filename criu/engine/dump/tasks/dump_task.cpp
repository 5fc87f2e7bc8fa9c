// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/dump/tasks/dump_task.hpp"

#include <compel/injection.hpp>
#include <compel/interrupted_call.hpp>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "criu/base/error.hpp"
#include "criu/base/log.hpp"
#include "criu/base/loss.hpp"
#include "criu/base/thread_pool.hpp"
#include "criu/cgroup/cgroup_dump.hpp"
#include "criu/engine/dump/tasks/core_entry.hpp"
#include "criu/engine/dump/tasks/landlock_check.hpp"
#include "criu/engine/dump/tasks/sem_undo_queries.hpp"
#include "criu/engine/dump/tasks/thread_queries.hpp"
#include "criu/engine/mapping_room.hpp"
#include "criu/image/image_dir.hpp"
#include "criu/memory/mappings/mapping_policies.hpp"
#include "criu/pie/enter.hpp"
#include "criu/pie/injection_record.hpp"
#include "criu/pie/program_builder.hpp"
#include "criu/pie/step_results.hpp"
#include "images/core.hpp"

namespace criu::engine {

class CoreDump::Impl {
public:
    Impl(FrozenTask& task, const TaskDumpContext& context, MmEntry& mm)
        : task_(task), context_(context), mm_(mm), core_{context.ids, context.onlineCpus, context.usualSlice} {
        readSeccomp();
        auto& threads = task_.process->threads();
        for (compel::FrozenThread& thread : threads)
            restarted_.push_back(compel::findRestartedCall(thread.tracee));
        for (const compel::FrozenThread& thread : threads)
            dispatches_.push_back(thread.tracee.userDispatch());
        leaderGroups_ = task_.dir.tryReadFile("cgroup").value_or("");
        leaderSet_ = context_.cgroups.setOf(leaderGroups_, context_.cgroupView);
        timers_ = kernel::readTimers(task_.dir, buffer_);
        room_ =
            roomForQueries(task_, std::min(threads.size(), kThreadsAtOnce), timers_.size()) + context_.policies.room();
    }

    /// Returns the request for the interpreter, and records it in the journal.
    [[nodiscard]] compel::InjectionRequest request() const {
        pie::recordInjection(pie::InjectedBlob::Interpreter, task_.pid(), task_.stat.startTime, room_,
                             context_.log.journal());
        return {&task_.process->leader(), room_, task_.process->syscallInstruction()};
    }

    [[nodiscard]] compel::Injection& injection() noexcept { return *injection_; }

    void place(const compel::InjectedMemory& memory) noexcept {
        try {
            injection_.emplace(task_.process->leader(), pie::interpreterBlob(), memory,
                               task_.process->syscallInstruction());
            setSignals();
        } catch (const std::exception&) {
            // Ignored: the process has ended, and run() tells this.
            return;
        }
    }

    void start() {
        if (!injection_) {
            injection_.emplace(task_.process->leader(), pie::interpreterBlob(), room_,
                               task_.process->syscallInstruction());
            setSignals();
        }
        if (task_.process->threads().size() > kThreadsAtOnce && availableCores() > 1)
            pool_.emplace(availableCores());
        ask(0);
    }

    void run() {
        while (true) {
            const std::size_t next = batch_->first + batch_->asked.size();
            collect(*std::exchange(batch_, nullptr));
            if (next >= task_.process->threads().size())
                break;
            ask(next);
        }
        context_.policies.queryRest(task_.process->leader(), *injection_, context_.stop);
        context_.semUndo.query(task_, context_.semaphores, *injection_);
        if (pool_)
            pool_->wait();
        pool_.reset();
    }

    void finish() {
        injection_->cure();
        context_.log.debug("pid {}: {} threads dumped", task_.pid(), task_.process->threads().size());
    }

private:
    /// Threads that run their queries at the same time.
    struct Batch {
        std::size_t first = 0;                              ///< index of the first thread
        std::vector<std::unique_ptr<ThreadQueries>> asked;  ///< one element for each thread
        std::shared_ptr<pie::RemoteData> data;              ///< steps, and their results after the runs
        std::vector<RemoteProgram> programs;
        std::vector<compel::BlobRun> runs;
    };

    /// Passes on the signals of the process, unless `status` has those of a main thread that has ended.
    void setSignals() noexcept {
        const kernel::TaskStatus& status = task_.status;
        if (!task_.leaderEnded())
            injection_->setSignals(
                {status.caught, status.ignored, status.pending | status.sharedPending, status.sharedPending});
    }

    /// Starts the queries of at most `kThreadsAtOnce` threads from `first`, and stores them as `batch_`.
    void ask(std::size_t first) {
        const std::size_t end = std::min(first + kThreadsAtOnce, task_.process->threads().size());
        auto batch = std::make_unique<Batch>();
        batch->first = first;
        batch->data = std::make_shared<pie::RemoteData>(injection_->data());
        pie::RemoteData& data = *batch->data;
        for (std::size_t i = first; i < end; ++i) {
            pie::StepList steps;
            auto questions = std::make_unique<ThreadQueries>(task_.process->threads()[i], task_, steps, data);
            questions->seccomp = places_[i];
            questions->dispatch = dispatches_[i];
            questions->objects = task_.objectsOf(i);
            if (i == 0) {
                questions->process.emplace(task_, context_.pids, timers_, steps, data);
                context_.policies.ask(steps, data);
            }
            questions->landlockAt = context_.landlock.ask(task_, steps, data);
            batch->programs.push_back(placeProgram(steps, data, &questions->thread.tracee));
            batch->asked.push_back(std::move(questions));
        }
        batch->runs = startPrograms(*injection_, data, batch->programs);
        batch_ = std::move(batch);
    }

    /// Waits for the queries of a batch, and writes the core images of its threads.
    void collect(Batch& batch) {
        finishPrograms(*injection_, *batch.data, batch.programs, batch.runs, &context_.stop);
        for (std::size_t i = 0; i < batch.asked.size(); ++i) {
            ThreadQueries& asked = *batch.asked[i];
            warn(asked, *batch.data);
            const auto traced = lookAt(asked, std::move(batch.runs[i]), restarted_[batch.first + i]);
            const compel::RemoteAddress answerAt = asked.landlockAt;
            context_.landlock.requireOutsideDomain(task_, asked.thread.tracee,
                                                   answerAt == 0 ? -EPERM : batch.data->local<std::int64_t>(answerAt));
            finish(std::move(batch.asked[i]), traced, batch.data);
        }
    }

    /// Refuses registered rings, and warns of state of a thread that a restore can't make again.
    void warn(ThreadQueries& asked, pie::RemoteData& data) {
        const HostPid tid(asked.thread.tracee.tid());
        asked.rings.refuse(data, tid);
        if (const std::string_view keys = asked.keyrings.found(data); !keys.empty())
            context_.log.loss(Loss::Keys, "Thread {} of {} has keys of its {} (keyrings(7)), which aren't kept", tid,
                              task_.describe(), keys);
        if (!asked.process)
            return;
        for (const std::int32_t timer : asked.process->timers.ofUnknownThreads())
            context_.log.loss(
                Loss::ThreadTimers,
                "POSIX timer {} of {} counts the processor time of the thread that has made it, which the kernel "
                "doesn't tell: after a restore it counts that of the main thread",
                timer, task_.describe());
    }

    /// Reads the thread's state by ptrace(2), which only the tracer may do. At the end of the call, the destructor of
    /// `run` sets the thread's dumped registers again.
    [[nodiscard]] std::shared_ptr<const TracedThread> lookAt(const ThreadQueries& asked, compel::BlobRun run,
                                                             std::optional<std::int64_t> restarted) const {
        const auto traced = std::make_shared<TracedThread>(asked.thread, run, task_.compat);
        if (restarted)
            traced->registers.setSyscallNumber(*restarted);
        return traced;
    }

    /// Makes and writes the core image of a thread. Any thread of criu may call this.
    void finish(std::unique_ptr<ThreadQueries> asked, const std::shared_ptr<const TracedThread>& traced,
                const std::shared_ptr<pie::RemoteData>& answers) {
        if (asked->process) {
            Arena arena;
            CoreEntry& core = task_.leaderEnded()
                                  ? endedLeaderEntry(task_, *asked, *answers, leaderSet_, core_, arena)
                                  : threadEntry(*asked, *traced, *answers, task_.status, leaderSet_, core_, arena);
            context_.policies.store(*answers);
            personality_ = asked->controls.personality(*answers);
            addProcess(task_, *asked, *answers, task_.leaderEnded() ? ~std::uint64_t{0} : traced->mask, core_, buffer_,
                       core, mm_, arena);
            requireMappingRoom(mm_, context_.allowedMappings, task_.describe(), context_.log);
            writeThread(task_.pid(), core, arena);
            if (!task_.leaderEnded())
                return;
        }
        const std::shared_ptr<const ThreadQueries> questions = std::move(asked);
        const auto complete = [this, traced, questions, answers] {
            Arena arena;
            kernel::ProcBuffer buffer;
            const kernel::TaskStatus status = kernel::readThreadStatus(task_.dir, traced->tid.value, buffer);
            CoreEntry& core =
                threadEntry(*questions, *traced, *answers, status, setOf(traced->tid, buffer), core_, arena);
            if (questions->objects != nullptr)
                addObjects(*questions->objects, context_.threadPaths, *core.thread_core, arena);
            addPersonality(questions->controls.personality(*answers), personality_, *core.thread_core);
            core.thread_core->has_blk_sigset = 1;
            core.thread_core->blk_sigset = traced->mask;
            writeThread(traced->tid, core, arena);
        };
        if (pool_)
            pool_->submit(complete);
        else
            complete();
    }

    [[nodiscard]] std::uint32_t setOf(HostPid tid, kernel::ProcBuffer& buffer) const {
        if (leaderGroups_.empty())
            return leaderSet_;
        const std::string_view groups = task_.dir.read(fmt::format("task/{}/cgroup", tid), buffer);
        return groups == leaderGroups_ ? leaderSet_ : context_.cgroups.setOf(groups, context_.cgroupView);
    }

    void writeThread(HostPid tid, CoreEntry& core, Arena& arena) const {
        {
            const ErrorContext context([&] { return fmt::format("thread {}", tid); });
            task::requireOwnRseq(*core.thread_core, mm_);
        }
        addLabel(task_, tid, core, arena);
        const auto name = static_cast<std::uint64_t>(context_.pids.inside(tid).value);
        ImageWriter image = context_.images.create(ImageKind::Core, name);
        image.write(core);
        image.finish();
    }

    /// Reads the seccomp filters of all threads by ptrace(2), before the entry of any thread is written.
    void readSeccomp() {
        std::vector<task::SeccompChain> chains(task_.leaderEnded() ? 1 : 0);
        bool any = false;
        for (const compel::FrozenThread& thread : task_.process->threads()) {
            chains.push_back(context_.seccompSuspended ? thread.tracee.seccompFilters() : task::SeccompChain());
            any = any || !chains.back().empty();
        }
        places_.resize(chains.size());
        if (any)
            places_ = context_.seccomp.add(std::move(chains));
        if (task_.leaderEnded())
            places_.erase(places_.begin());  // an ended thread has no filters
    }

    FrozenTask& task_;
    const TaskDumpContext& context_;
    MmEntry& mm_;
    CoreContext core_;
    /// Number of the interrupted system call of each thread (compel::findRestartedCall()).
    std::vector<std::optional<std::int64_t>> restarted_;
    std::vector<std::optional<compel::UserDispatch>> dispatches_;  ///< setting of each thread
    std::vector<kernel::PosixTimer> timers_;
    std::uint32_t personality_ = 0;  ///< personality of the first thread, whose answers finish() gets first
    /// Content of /proc/PID/cgroup of the leader. A thread with equal content has the cgroup set `leaderSet_`.
    std::string leaderGroups_;
    std::uint32_t leaderSet_ = 0;
    std::vector<task::SeccompDump::Place> places_;  ///< seccomp filters of each thread, in the order of threads
    kernel::ProcBuffer buffer_;
    std::size_t room_ = 0;  ///< number of bytes for the queries' data
    std::optional<compel::Injection> injection_;
    std::unique_ptr<Batch> batch_;    ///< started queries, whose results run() collects
    std::optional<ThreadPool> pool_;  // last member: its threads use the other members, so it must be destroyed first
};

CoreDump::CoreDump(FrozenTask& task, const TaskDumpContext& context, MmEntry& mm)
    : impl_(std::make_unique<Impl>(task, context, mm)) {}

CoreDump::~CoreDump() = default;

compel::InjectionRequest CoreDump::request() const {
    return impl_->request();
}

void CoreDump::place(const compel::InjectedMemory& memory) noexcept {
    impl_->place(memory);
}

void CoreDump::start() {
    impl_->start();
}

void CoreDump::run() {
    impl_->run();
}

compel::Injection& CoreDump::injection() noexcept {
    return impl_->injection();
}

void CoreDump::finish() {
    impl_->finish();
}

void dumpDead(const FrozenTask& task, const ImageDir& images) {
    Arena arena;
    const CoreEntry& core = deadEntry(task, arena);
    ImageWriter image = images.create(ImageKind::Core, static_cast<std::uint64_t>(task.treePid().value));
    image.write(core);
    image.finish();
}

}  // namespace criu::engine
