// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/dump/tasks/stopped_clone.hpp"

#include <linux/sched.h>
#include <sched.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <compel/error.hpp>

#include <cstddef>

#include "criu/base/error.hpp"
#include "criu/engine/dump/frozen_tree.hpp"
#include "criu/kernel/proc/tasks.hpp"

namespace criu::engine {
namespace {

std::vector<siginfo_t> endsOf(std::vector<siginfo_t> signals) {
    std::erase_if(signals, [](const siginfo_t& info) { return info.si_signo != SIGCHLD; });
    return signals;
}

void check(std::int64_t result) {
    if (compel::isSyscallError(result))
        failWith(static_cast<int>(-result), "have SIGCHLD ignored for a moment");
}

// Invalid stack address of a clone. If criu is killed before it sets PTRACE_O_EXITKILL, the kernel lets the clone run.
// Its first access to the stack then causes a fault that ends it.
constexpr std::uint64_t kNoStack = 4;
constexpr std::uint64_t kStackSize = 4;

/// Makes the thread call clone3(2) with `set_tid`. The next child of the process gets the same pid as without this call
/// (alloc_pid(), kernel/pid.c).
pid_t cloneAs(pid_t number, compel::RemoteSyscalls& calls, unsigned long flags, compel::RemoteAddress room,
              const compel::RemoteMemory& memory) {
    struct {
        clone_args args{};
        pid_t number = 0;
    } call;
    static_assert(sizeof(call) <= StoppedClone::kRoom);
    call.number = number;
    call.args.flags = flags | CLONE_PTRACE;
    call.args.exit_signal = SIGCHLD;
    call.args.stack = kNoStack;
    call.args.stack_size = kStackSize;
    call.args.set_tid = room + offsetof(decltype(call), number);
    call.args.set_tid_size = 1;
    memory.writeValue(room, call);
    return static_cast<pid_t>(calls.checkedCall("clone3", SYS_clone3, {room, sizeof(call.args)}));
}

}  // namespace

RemoteScratchPage::RemoteScratchPage(FrozenTask& owner, compel::RemoteSyscalls& by)
    : task(owner), calls(by), buffer(by, kSize), memory(owner.process->memory()) {}

void requireIgnorableSigchld(const FrozenTask& task) {
    for (const compel::FrozenThread& thread : task.process->threads())
        if (!endsOf(thread.tracee.pendingSignals(compel::SignalQueue::Thread)).empty())
            fail("a SIGCHLD for one of its threads is pending");
}

IgnoredSigchld::IgnoredSigchld(RemoteScratchPage& exchange, TreePid pid) : exchange_(exchange), pid_(pid) {
    check(action(0, exchange.at(RemoteScratchPage::kOldAction)));
    const auto handler = exchange.memory.readValue<std::uint64_t>(exchange.at(RemoteScratchPage::kOldAction));
    constexpr std::uint64_t kIgnored = 1;  // SIG_IGN
    if (handler == kIgnored)
        return;
    requireIgnorableSigchld(exchange.task);
    pending_ = endsOf(exchange.calls.tracee().pendingSignals(compel::SignalQueue::Process));
    // all other members of the struct are zero
    exchange.memory.writeValue(exchange.at(RemoteScratchPage::kIgnore), kIgnored);
    check(action(exchange.at(RemoteScratchPage::kIgnore), 0));
    changed_ = true;
}

IgnoredSigchld::~IgnoredSigchld() {
    if (!changed_)
        return;
    try {
        (void)action(exchange_.at(RemoteScratchPage::kOldAction), 0);
        for (const siginfo_t& info : pending_) {
            exchange_.memory.writeValue(exchange_.at(RemoteScratchPage::kSignal), info);
            (void)exchange_.calls.call(SYS_rt_sigqueueinfo, pid_.value, SIGCHLD,
                                       exchange_.at(RemoteScratchPage::kSignal));
        }
    } catch (const std::exception&) {
        return;  // another process has killed this process, which therefore needs no signals
    }
}

std::int64_t IgnoredSigchld::action(compel::RemoteAddress set, compel::RemoteAddress old) const {
    constexpr std::uint64_t kMaskSize = 8;
    return exchange_.calls.call(SYS_rt_sigaction, SIGCHLD, set, old, kMaskSize);
}

StoppedClone::StoppedClone(compel::RemoteSyscalls& calls, const kernel::ProcPid& process, unsigned long flags)
    : number_(static_cast<pid_t>(
          calls.checkedCall("clone", SYS_clone, {flags | CLONE_PTRACE | SIGCHLD, kStackSize + kNoStack}))),
      tracee_(find(calls, process)) {
    begin();
}

StoppedClone::StoppedClone(compel::RemoteSyscalls& calls, const kernel::ProcPid& process, unsigned long flags,
                           pid_t number, compel::RemoteAddress room, const compel::RemoteMemory& memory)
    : number_(cloneAs(number, calls, flags, room, memory)), tracee_(find(calls, process)) {
    begin();
}

void StoppedClone::begin() {
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

StoppedClone::~StoppedClone() {
    kill();
}

void StoppedClone::end() {
    ::kill(tracee_.tid(), SIGKILL);
    siginfo_t info{};
    while (::waitid(P_PID, static_cast<id_t>(tracee_.tid()), &info, WEXITED | WNOWAIT | __WALL) < 0)
        if (errno != EINTR)
            failErrno("wait for the end of process {}", tracee_.tid());
}

void StoppedClone::kill() noexcept {
    if (tracee_.released())
        return;
    ::kill(tracee_.tid(), SIGKILL);
    try {
        tracee_.waitEnd();
    } catch (const std::exception&) {
        return;  // another process has reaped it
    }
}

compel::Tracee StoppedClone::find(compel::RemoteSyscalls& calls, const kernel::ProcPid& process) const {
    kernel::ProcBuffer buffer;
    const auto child = kernel::findTracedChild(kernel::ProcDir(), process, calls.tracee().tid(), number_, buffer);
    if (!child)
        fail("a clone has vanished");
    return compel::Tracee::bornTraced(*child, calls.tracee().options());
}

}  // namespace criu::engine
