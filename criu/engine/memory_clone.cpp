// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/memory_clone.hpp"

#include <fcntl.h>
#include <linux/close_range.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <compel/error.hpp>
#include <compel/remote_syscalls.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <vector>

#include "criu/base/error.hpp"
#include "criu/base/log.hpp"
#include "criu/engine/frozen_tree.hpp"
#include "criu/engine/thread_questions.hpp"
#include "criu/kernel/tasks.hpp"

namespace criu::engine {
namespace {

/// A page in the process for what its system calls take and give.
struct Exchange {
    static constexpr std::uint64_t kSize = 4096;
    static constexpr std::uint64_t kOldAction = 0;
    static constexpr std::uint64_t kIgnore = 128;
    static constexpr std::uint64_t kSignal = 256;
    static constexpr std::uint64_t kFolder = 512;

    Exchange(FrozenTask& owner, compel::RemoteSyscalls& by)
        : task(owner), calls(by), buffer(by, kSize), memory(owner.process->memory()) {}

    [[nodiscard]] compel::RemoteAddress at(std::uint64_t offset) const noexcept { return buffer.address() + offset; }

    FrozenTask& task;
    compel::RemoteSyscalls& calls;
    compel::RemoteBuffer buffer;
    const compel::RemoteMemory& memory;
};

/// For as long as this lives a child of the process may end without a trace: while SIGCHLD is ignored, the kernel reaps
/// children itself, sends no signal, and adds nothing to what getrusage(2) says of children.
///
/// Ignoring a signal also discards those that are pending, so these are put back.
class UnnoticedEnds {
public:
    UnnoticedEnds(Exchange& exchange, TreePid pid) : exchange_(exchange), pid_(pid) {
        check(action(0, exchange.at(Exchange::kOldAction)));
        const auto handler = exchange.memory.readValue<std::uint64_t>(exchange.at(Exchange::kOldAction));
        constexpr std::uint64_t kIgnored = 1;  // SIG_IGN
        if (handler == kIgnored)
            return;
        for (const compel::FrozenThread& thread : exchange.task.process->threads())
            if (!endsOf(thread.tracee.pendingSignals(compel::SignalQueue::Thread)).empty())
                fail("a SIGCHLD for one of its threads is pending");
        pending_ = endsOf(exchange.calls.tracee().pendingSignals(compel::SignalQueue::Process));
        exchange.memory.writeValue(exchange.at(Exchange::kIgnore), kIgnored);  // all else of it is zero
        check(action(exchange.at(Exchange::kIgnore), 0));
        changed_ = true;
    }
    ~UnnoticedEnds() {
        if (!changed_)
            return;
        try {
            (void)action(exchange_.at(Exchange::kOldAction), 0);
            for (const siginfo_t& info : pending_) {
                exchange_.memory.writeValue(exchange_.at(Exchange::kSignal), info);
                (void)exchange_.calls.call(SYS_rt_sigqueueinfo, pid_.value, SIGCHLD, exchange_.at(Exchange::kSignal));
            }
        } catch (const std::exception&) {
            return;  // the process has been killed
        }
    }
    UnnoticedEnds(const UnnoticedEnds&) = delete;
    UnnoticedEnds& operator=(const UnnoticedEnds&) = delete;

private:
    static std::vector<siginfo_t> endsOf(std::vector<siginfo_t> signals) {
        std::erase_if(signals, [](const siginfo_t& info) { return info.si_signo != SIGCHLD; });
        return signals;
    }
    [[nodiscard]] std::int64_t action(compel::RemoteAddress set, compel::RemoteAddress old) const {
        constexpr std::uint64_t kMaskSize = 8;
        return exchange_.calls.call(SYS_rt_sigaction, SIGCHLD, set, old, kMaskSize);
    }
    static void check(std::int64_t result) {
        if (compel::isSyscallError(result))
            failWith(static_cast<int>(-result), "have SIGCHLD ignored for a moment");
    }

    Exchange& exchange_;
    TreePid pid_;
    std::vector<siginfo_t> pending_;
    bool changed_ = false;
};

}  // namespace

/// A clone that criu traces from its birth. Killed by the destructor: let go it would run.
class MemoryClone::BornStopped {
public:
    /// Has the thread that `calls` are made in, of `process`, clone itself.
    BornStopped(compel::RemoteSyscalls& calls, const kernel::ProcPid& process, unsigned long flags)
        : tracee_(birth(calls, process, flags)) {
        try {
            if (tracee_.waitStop().kind != compel::StopInfo::Kind::Interrupted)
                fail("a clone isn't stopped at its birth");
            compel::SeizeOptions options = tracee_.options();
            options.killOnExit = true;
            tracee_.setOptions(options);
        } catch (...) {
            kill();
            throw;
        }
    }
    ~BornStopped() { kill(); }
    BornStopped(const BornStopped&) = delete;
    BornStopped& operator=(const BornStopped&) = delete;

    [[nodiscard]] compel::Tracee& tracee() noexcept { return tracee_; }

private:
    void kill() noexcept {
        if (tracee_.released())
            return;
        ::kill(tracee_.tid(), SIGKILL);
        try {
            tracee_.waitEnd();
        } catch (const std::exception&) {
            return;  // somebody else has reaped it
        }
    }

    static compel::Tracee birth(compel::RemoteSyscalls& calls, const kernel::ProcPid& process, unsigned long flags) {
        const pid_t parent = calls.tracee().tid();
        // A clone that criu loses, by being killed before the kernel is told to kill the clone with it, faults at once:
        // there is no stack at this address, and code around system calls doesn't go far without one.
        constexpr std::uint64_t kNoStack = 8;
        const std::uint64_t number = calls.checkedCall("clone", SYS_clone, {flags | CLONE_PTRACE | SIGCHLD, kNoStack});
        kernel::ProcBuffer buffer;
        const auto child =
            kernel::findTracedChild(kernel::ProcDir(), process, parent, static_cast<pid_t>(number), buffer);
        if (!child)
            fail("a clone has vanished");
        return compel::Tracee::bornTraced(*child, calls.tracee().options());
    }

    compel::Tracee tracee_;
};

/// The clone is made by an intermediate process, which ends at once, so that it is nobody's child. That one has the
/// memory of the process itself: only one copy is made.
std::unique_ptr<MemoryClone::BornStopped> MemoryClone::make(FrozenTask& task, TreePid pid) {
    const DispatchPause pause(*task.process);
    const auto instruction = task.process->syscallInstruction();
    compel::RemoteSyscalls calls(task.process->leader(), instruction);
    Exchange exchange(task, calls);
    exchange.memory.writeValue(exchange.at(Exchange::kFolder), std::array<char, 2>{'/', '\0'});
    const UnnoticedEnds unnoticed(exchange, pid);
    BornStopped between(calls, task.dir, CLONE_VM | CLONE_FILES);
    const kernel::ProcPid dir = kernel::ProcDir().open(between.tracee().tid());
    compel::RemoteSyscalls further(between.tracee(), instruction);
    // Files of the process that the clone had open, too, would stay open when the process closes them.
    further.checkedCall("close_range", SYS_close_range, {0, ~0U, CLOSE_RANGE_UNSHARE});
    further.checkedCall("setsid", SYS_setsid, {});
    further.checkedCall("chdir", SYS_chdir, {exchange.at(Exchange::kFolder)});
    return std::make_unique<BornStopped>(further, dir, 0);
}

MemoryClone::MemoryClone(FrozenTask& task, TreePid pid)
    : process_(make(task, pid)),
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

bool AdoptionCheck::isSubreaper(FrozenTask& task) {
    const auto known = subreapers_.find(task.pid());
    if (known != subreapers_.end())
        return known->second;
    const DispatchPause pause(*task.process);
    compel::RemoteSyscalls calls(task.process->leader(), task.process->syscallInstruction());
    const compel::RemoteBuffer answer(calls, sizeof(std::uint64_t));
    calls.checkedCall("prctl", SYS_prctl, {PR_GET_CHILD_SUBREAPER, answer.address()});
    const bool is = task.process->memory().readValue<std::uint32_t>(answer.address()) != 0;
    subreapers_.emplace(task.pid(), is);
    return is;
}

bool AdoptionCheck::adoptsInTree(const FrozenTask& task) {
    constexpr TreePid kFirst(1);
    // The first process of a pid namespace adopts orphans in it.
    if (tree_.tasks().front()->treePid() == kFirst || task.status.nsPid.size() > task.pidLevel + 1)
        return true;
    for (FrozenTask* at = tree_.find(task.pid()); at != nullptr; at = tree_.find(HostPid(at->stat.ppid)))
        if (at->alive() && isSubreaper(*at))
            return true;
    return false;
}

}  // namespace criu::engine
