// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/dump/memory/memory_clone.hpp"

#include <fcntl.h>
#include <linux/close_range.h>
#include <linux/sched.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <compel/error.hpp>
#include <compel/injection.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <exception>
#include <optional>
#include <string_view>
#include <vector>

#include "criu/base/error.hpp"
#include "criu/base/journal.hpp"
#include "criu/base/machine.hpp"
#include "criu/engine/dump/frozen_tree.hpp"
#include "criu/engine/dump/tasks/stopped_clone.hpp"
#include "criu/kernel/proc/stat.hpp"
#include "criu/pie/enter.hpp"
#include "criu/pie/injection_record.hpp"
#include "criu/pie/program_builder.hpp"
#include "criu/pie/step_results.hpp"

namespace criu::engine {
namespace {

/// Arguments of clone3(2) for a process that gets SIG_DFL for all signals that the dumped process handles (Linux 5.5),
/// so that no handler of the program can run in it. It has no exit signal: its parent gets no SIGCHLD, and finds it
/// only by __WALL or __WCLONE (eligible_child(), kernel/exit.c).
pie::ThreadStart newProcess(std::uint64_t flags, std::uint64_t program) {
    pie::ThreadStart start;
    clone_args args{};
    static_assert(sizeof(args) == sizeof(start.cloneArgs));
    args.flags = flags | CLONE_CLEAR_SIGHAND;
    std::memcpy(start.cloneArgs, &args, sizeof(args));
    start.program = program;
    return start;
}

/// Programs of the dumped process, of the intermediate process, and of the clone. If criu dies, each of them runs its
/// program to the end, so that the dumped process continues without children and zombies of criu.
class ClonePrograms {
public:
    /// Number of bytes in the process for all programs and stacks.
    static std::size_t room() noexcept {
        constexpr std::size_t kSteps = 2048;
        return pageAlignUp(kSteps + 2 * pie::kStackSize + compel::signalFrameRoom());
    }

    ClonePrograms(compel::Injection& injection, compel::Tracee& thread);

    [[nodiscard]] const RemoteProgram& first() const noexcept { return first_; }
    [[nodiscard]] pie::RemoteData& data() noexcept { return data_; }
    /// Throws Error if a call of the intermediate process has failed. Call it after the end of the run.
    void requireSuccess();

private:
    pie::RemoteData data_;
    std::uint64_t betweenSteps_ = 0;
    RemoteProgram first_;
};

constexpr std::array<const char*, 4> kBetweenCalls{"close_range", "setsid", "chdir", "clone3"};

ClonePrograms::ClonePrograms(compel::Injection& injection, compel::Tracee& thread) : data_(injection.data()) {
    const std::uint64_t zero = data_.reserve(sizeof(std::uint64_t));
    const std::uint64_t number = data_.reserve(sizeof(std::uint64_t));
    const auto place = [&](const pie::StepList& steps) { return steps.place(data_, 0, 0, false); };

    pie::StepList end;
    end.add(pie::Op::EndUnlessSet, pie::Subject::Other, 0, zero);
    const std::uint64_t clone = data_.put(newProcess(0, place(end)));

    // Each step accepts any result, because the intermediate process must end also after a failure.
    pie::StepList between;
    // Closes all files before the clone is created: a file that the clone has open would stay open when the dumped
    // process closes it.
    between.call(pie::Subject::CloseFd, 0, SYS_close_range, 0, ~0U, CLOSE_RANGE_UNSHARE).check = pie::ResultCheck::Any;
    between.call(pie::Subject::Other, 0, SYS_setsid).check = pie::ResultCheck::Any;
    between.call(pie::Subject::Directory, 0, SYS_chdir, data_.putString("/")).check = pie::ResultCheck::Any;
    between.add(pie::Op::SpawnThreads, pie::Subject::Thread, 0, clone, 1).check = pie::ResultCheck::Any;
    between.add(pie::Op::EndUnlessSet, pie::Subject::Other, 0, zero);
    const std::uint64_t program = place(between);
    betweenSteps_ = data_.local<pie::Program>(program).steps;

    pie::ThreadStart start = newProcess(CLONE_VM | CLONE_FILES | CLONE_PARENT_SETTID, program);
    clone_args args{};
    std::memcpy(&args, start.cloneArgs, sizeof(args));
    args.parent_tid = number;
    args.stack = data_.reserve(pie::kStackSize);
    args.stack_size = pie::kStackSize;
    std::memcpy(start.cloneArgs, &args, sizeof(args));

    pie::StepList steps;
    steps.add(pie::Op::SpawnThreads, pie::Subject::Thread, 0, data_.put(start), 1);
    constexpr std::uint16_t kFirst = 1;  // bit of the first argument
    steps.call(pie::Subject::Other, 0, SYS_wait4, number, 0, __WALL, 0).indirect = kFirst;
    first_ = placeProgram(steps, data_, &thread);
}

void ClonePrograms::requireSuccess() {
    for (std::size_t i = 0; i < kBetweenCalls.size(); ++i) {
        const std::int64_t result = data_.local<pie::Step>(betweenSteps_ + i * sizeof(pie::Step)).result;
        if (!pie::passes(pie::Step{}, result))
            failWith(static_cast<int>(-result), "{} in the intermediate process of a clone", kBetweenCalls.at(i));
    }
}

/// Scope in which the kernel stops a thread that has created a process, and traces this process.
class StopsAtClone {
public:
    explicit StopsAtClone(compel::Tracee& thread) : thread_(thread), before_(thread.options()) {
        compel::SeizeOptions options = before_;
        options.stopAtClone = true;
        thread_.setOptions(options);
    }
    ~StopsAtClone() {
        try {
            thread_.setOptions(before_);
        } catch (const std::exception&) {
            return;  // the thread has ended
        }
    }
    StopsAtClone(const StopsAtClone&) = delete;
    StopsAtClone& operator=(const StopsAtClone&) = delete;

private:
    compel::Tracee& thread_;
    compel::SeizeOptions before_;
};

/// Lets the intermediate process run until it has created a process, or has ended. Returns the tid of the new process.
std::optional<pid_t> runToClone(compel::Tracee& between) {
    for (;;) {
        between.cont();
        const compel::StopInfo stop = between.waitStop();
        if (stop.kind == compel::StopInfo::Kind::Exited)
            return std::nullopt;
        const bool isFault =
            stop.kind == compel::StopInfo::Kind::Signal && (compel::faultSignals & compel::signalBit(stop.signal)) != 0;
        // The kernel repeats the instruction of a fault without end. A signal of another process has no positive code.
        if (isFault && between.signalInfo().si_code > 0)
            fail("the intermediate process of a clone got signal {}", stop.signal);
        if (const auto created = between.createdByClone())
            return created;
    }
}

/// Returns the clone that the intermediate process of the run makes; null if there is none. The intermediate process
/// has ended afterwards.
std::unique_ptr<StoppedClone> catchClone(compel::BlobRun& run) {
    const auto first = run.awaitClone();
    if (!first)
        return nullptr;
    StoppedClone between(*first, run.tracee().options());
    const auto second = runToClone(between.tracee());
    if (!second)
        return nullptr;
    auto clone = std::make_unique<StoppedClone>(*second, between.tracee().options());
    while (runToClone(between.tracee())) {
    }
    return clone;
}

}  // namespace

/// Makes the stopped clone as a child of an intermediate process. When the intermediate process ends, the kernel
/// reparents the clone outside of the tree. The intermediate process shares the memory of the dumped process, so that
/// the kernel copies page tables only once, for the clone. The dumped process reaps the intermediate process.
std::unique_ptr<StoppedClone> MemoryClone::make(FrozenTask& task, Journal& journal) {
    compel::Tracee& thread = task.process->leader();
    const std::size_t room = ClonePrograms::room();
    pie::recordInjection(pie::InjectedBlob::Interpreter, task.pid(), task.stat.startTime, room, journal);
    compel::Injection injection(thread, pie::interpreterBlob(), room, task.process->syscallInstruction());
    ClonePrograms programs(injection, thread);
    std::unique_ptr<StoppedClone> clone;
    {
        const StopsAtClone scope(thread);
        std::vector<compel::BlobRun> runs = startPrograms(injection, programs.data(), {&programs.first(), 1});
        std::exception_ptr failure;
        try {
            clone = catchClone(runs.front());
        } catch (...) {
            failure = std::current_exception();
        }
        // Doesn't stop the run after a failure, because the process must reap the intermediate process.
        finishPrograms(injection, programs.data(), {&programs.first(), 1}, runs);
        if (failure)
            std::rethrow_exception(failure);
    }
    programs.requireSuccess();
    if (!clone)
        fail("the intermediate process of a clone was killed");
    injection.cure();
    return clone;
}

MemoryClone::MemoryClone(FrozenTask& task, Journal& journal)
    : process_(make(task, journal)),
      dir_(kernel::ProcDir().open(process_->tracee().tid())),
      memory_(dir_.open("mem", O_RDONLY)) {
    constexpr std::string_view kFirstToGo = "1000";
    dir_.write("oom_score_adj", kFirstToGo);
}

MemoryClone::~MemoryClone() = default;

std::uint64_t MemoryClone::ownBytes() const {
    const std::string text = dir_.readFile("smaps_rollup");
    std::uint64_t kilobytes = 0;
    for (const std::string_view name : {"\nPrivate_Clean:", "\nPrivate_Dirty:"}) {
        const std::size_t found = text.find(name);
        if (found == std::string::npos)
            fail("{}/smaps_rollup has no {}", dir_.path(), name.substr(1));
        const std::size_t first = text.find_first_not_of(' ', found + name.size());
        std::uint64_t value = 0;
        std::from_chars(text.data() + std::min(first, text.size()), text.data() + text.size(), value);
        kilobytes += value;
    }
    return kilobytes * 1024;
}

bool MemoryClone::isStopped() const noexcept {
    try {
        kernel::ProcBuffer buffer;
        return kernel::readStat(dir_, buffer).state == kernel::TaskState::Tracing;
    } catch (const std::exception&) {
        return false;  // the kernel has removed the clone's directory of /proc
    }
}

bool reparentsInTree(FrozenTree& tree, const FrozenTask& task) {
    constexpr TreePid kFirst(1);
    // Init of a pid namespace gets the orphans of the namespace. In both cases, this init is a process of the tree.
    if (tree.tasks().front()->treePid() == kFirst || task.status.nsPid.size() > task.pidLevel + 1)
        return true;
    for (const FrozenTask* at = &task; at != nullptr; at = tree.find(HostPid(at->stat.ppid)))
        if (at->alive() && at->isSubreaper)
            return true;
    return false;
}

}  // namespace criu::engine
