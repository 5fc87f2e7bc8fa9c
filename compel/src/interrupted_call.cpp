// SPDX-License-Identifier: LGPL-2.1-only
#include <compel/blob_run.hpp>
#include <compel/interrupted_call.hpp>
#include <compel/remote_memory.hpp>
#include <compel/remote_syscalls.hpp>

#include <linux/futex.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <chrono>
#include <cinttypes>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <iterator>
#include <string>
#include <vector>

#include "backoff.hpp"
#include "fail.hpp"
#include "proc.hpp"
#include "restart_codes.hpp"

namespace compel {
namespace {

// System calls that return EINTR when a stop interrupts them before they have an effect. Calls that aren't listed
// return -ERESTART*, so that the kernel restarts them, or may already have had an effect (close(2), ioctl(2)).
constexpr std::int64_t calls[] = {
    SYS_epoll_pwait,
#ifdef SYS_epoll_pwait2
    SYS_epoll_pwait2,
#endif
    SYS_rt_sigtimedwait,
    SYS_semop,
    SYS_semtimedop,
    SYS_io_getevents,
    SYS_io_pgetevents,
#ifdef SYS_io_uring_enter
    SYS_io_uring_enter,
#endif
    // pselect6(2) and ppoll(2) return EINTR if the kernel couldn't write the remaining time back (select(2),
    // fs/select.c).
    SYS_pselect6,
    SYS_ppoll,
    // The calls below return EINTR for a socket with a timeout (SO_RCVTIMEO, SO_SNDTIMEO; sock_intr_errno() in
    // include/net/sock.h).
    SYS_read,
    SYS_readv,
    SYS_write,
    SYS_writev,
    SYS_recvfrom,
    SYS_recvmsg,
    SYS_recvmmsg,
    SYS_sendto,
    SYS_sendmsg,
    SYS_sendmmsg,
    SYS_accept,
    SYS_accept4,
    SYS_connect,
    SYS_sendfile,
    SYS_splice,
};

template <typename List>
bool isIn(const List& list, std::int64_t number) noexcept {
    return std::find(std::begin(list), std::end(list), number) != std::end(list);
}

/// Lets the thread repeat a call that a stop has ended, if its stops don't show the call. The tracer sees each signal
/// before its handler runs. So between the seizure and the stop, only the request for the stop can have ended the call.
void rewind(Tracee& tracee, const SleepingCall& call) {
    Registers registers = tracee.registers();
    if (!call.fails(registers))
        return;
    const auto status = readThreadStatus(tracee.tid());
    if (!status || (status->pending & status->caught & ~status->blocked) != 0)
        return;  // the handler of this signal must find the call ended
    registers.setIp(call.ip - syscallInstructionBytes.size());
    registers.setSyscallArgument(0, call.arguments[0]);
    tracee.setRegisters(registers);
    tracee.setRewoundCall(call);
}

/// Returns true for a call that the kernel continues by its restart block (ERESTART_RESTARTBLOCK) after a stop: a sleep
/// or a wait for a limited time.
bool hasRestartBlock(const SleepingCall& call) noexcept {
    constexpr std::uint64_t flags = FUTEX_PRIVATE_FLAG | FUTEX_CLOCK_REALTIME;
    const std::uint64_t second = call.arguments[1];
    switch (call.number) {
        case SYS_nanosleep:
            return true;
        case SYS_clock_nanosleep:
            return (second & TIMER_ABSTIME) == 0;
        case SYS_futex:
            return call.arguments[3] != 0 &&
                   ((second & ~flags) == FUTEX_WAIT || (second & ~flags) == FUTEX_WAIT_BITSET);
        default:
            return false;
    }
}

/// Lets the kernel prepare the rest of a sleep: runs the thread to the entry of its next system call and into this
/// call, where it stops again. Then the registers show restart_syscall(2). The kernel prepares this only while it
/// leaves the first stop with unchanged registers. The thread executes no other instruction.
void enterAgain(Tracee& tracee) {
    const SignalMask mask = tracee.signalMask();
    tracee.setSignalMask(allSignals);
    tracee.syscallStep();
    if (tracee.waitStop().kind == StopInfo::Kind::Syscall) {
        tracee.interrupt();
        tracee.cont();
        (void)tracee.waitStop();
    }
    if (tracee.released())
        throw TraceeGone(ESRCH, join("thread ", tracee.tid(), " in a sleep"));
    tracee.requeueSignal();
    tracee.setSignalMask(mask);
}

/// Prepares a thread whose stops don't show its system call for the end of the stop.
void keepCall(Tracee& tracee, const SleepingCall& call) {
    const Registers registers = tracee.registers();
    if (!registers.isNative())
        return;
    if (isIn(calls, call.number))
        return rewind(tracee, call);
    if (!call.repeats(registers))
        return;
    if (hasRestartBlock(call) && tracee.stopped()->kind == StopInfo::Kind::Interrupted)
        enterAgain(tracee);
    if (hasRestartBlock(call) || call.number == SYS_restart_syscall)
        tracee.setRewoundCall(call);
}

bool goesOnByRestart(const Tracee& tracee, const Registers& registers) {
    if (!registers.isNative() || !registers.continuesByBlock())
        return false;
    const RemoteAddress at = registers.continuingInstruction();
    if (at == 0)
        return true;
    auto instruction = syscallInstructionBytes;
    return RemoteMemory(tracee.tid()).readSome(at, instruction) == instruction.size() && entersKernel(instruction);
}

/// Returns the number of the sleeping call: clock_nanosleep(2) if the first argument is a clock, nanosleep(2) if it is
/// an address.
std::int64_t sleepOf(const Registers& registers) {
    constexpr std::uint64_t lowestAddress = 4096;
    const std::uint64_t first = registers.syscallArgument(0);
    const bool negative = first == static_cast<std::uint64_t>(std::int64_t{static_cast<std::int32_t>(first)}) &&
                          static_cast<std::int32_t>(first) < 0;
    return first < lowestAddress || negative ? SYS_clock_nanosleep : SYS_nanosleep;
}

/// Returns the system call in which a thread sleeps. Derives it from the kernel function that /proc/PID/wchan shows.
/// Compares only a part of the function's name, because the name differs between kernels and processors. Covers all
/// calls with a restart block (ERESTART_RESTARTBLOCK in Linux 5.10 to 6.18).
std::optional<std::int64_t> callOf(const std::string& function, const Registers& registers) {
    const auto has = [&](const char* part) { return function.find(part) != std::string::npos; };
    if (has("futex"))
        return SYS_futex;
    if (has("poll"))
        return pollSyscall;
    return function.empty() ? std::nullopt : std::optional(sleepOf(registers));
}

/// Runs a thread from the entry of a system call until it sleeps in the call. Returns the kernel function in which it
/// sleeps. Returns an empty text if the call has ended, or if the thread doesn't sleep in time.
std::string sleepIn(Tracee& tracee) {
    constexpr std::chrono::seconds patience(2);
    const auto end = std::chrono::steady_clock::now() + patience;
    tracee.syscallStep();
    Backoff backoff;
    while (!tracee.waitStopFor(std::chrono::microseconds(50), backoff) && std::chrono::steady_clock::now() < end) {
        const auto status = readThreadStatus(tracee.tid());
        if (!status || status->state != 'S')
            continue;
        const std::string function = readWholeFile(join("/proc/", tracee.tid(), "/wchan")).value_or("");
        if (!function.empty() && function != "0")
            return function;
    }
    return {};
}

/// Returns the number of the signal that the kernel takes first (next_signal() and dequeue_signal() of Linux); 0 for an
/// empty set. `ofThread`, `ofProcess`: signals in the queues of thread and process.
int firstTaken(SignalMask ofThread, SignalMask ofProcess) noexcept {
    for (const SignalMask set : {ofThread & faultSignals, ofThread, ofProcess & faultSignals, ofProcess})
        if (set != 0)
            return std::countr_zero(set) + 1;
    return 0;
}

/// Kernel's struct sigaction of 64-bit processes (asm/signal.h).
struct KernelAction {
    std::uint64_t handler;
    std::uint64_t flags;
    std::uint64_t restorer;
    std::uint64_t mask;
};

/// Scope in which bytes in a process' memory have other values. Puts the old ones back at its end.
class CoveredBytes {
public:
    CoveredBytes(const RemoteMemory& memory, RemoteAddress at, std::size_t size)
        : memory_(memory), at_(at), before_(size) {
        before_.resize(memory.readSome(at, before_));
    }
    ~CoveredBytes() {
        try {
            (void)memory_.writeAllowed(at_, before_);
        } catch (const std::exception&) {
            // Ignored: the process has ended.
            return;
        }
    }
    CoveredBytes(const CoveredBytes&) = delete;
    CoveredBytes& operator=(const CoveredBytes&) = delete;

    [[nodiscard]] std::size_t size() const noexcept { return before_.size(); }

private:
    const RemoteMemory& memory_;
    RemoteAddress at_;
    std::vector<std::byte> before_;
};

/// Asks the kernel, by a system call of the thread, whether the action of a signal has SA_RESTART. Uses memory below
/// the signal frame on the thread's stack. Returns true if the thread can't make the call.
bool restartsCalls(Tracee& tracee, const SyscallInstruction& instruction, int signal) {
    const RemoteMemory memory(tracee.tid());
    RemoteSyscalls remote(tracee, instruction);
    constexpr std::uint64_t alignment = 16;
    const RemoteAddress at =
        (remote.savedRegisters().sp() - Registers::belowStack - signalFrameRoom() - sizeof(KernelAction)) &
        ~(alignment - 1);
    KernelAction action{};
    const CoveredBytes covered(memory, at, sizeof(action));
    if (covered.size() < sizeof(action))
        return true;
    const std::int64_t result = remote.call(SYS_rt_sigaction, signal, 0, at, sizeof(action.mask));
    // Sets the thread's own state at once: if the tracer dies, a thread of a stopped process enters the kernel's signal
    // handling from here, too, and the kernel itself decides how the call ends (ptrace_unlink() and get_signal()).
    tracee.setSignalMask(remote.savedMask());
    tracee.setRegisters(remote.savedRegisters());
    if (!isSyscallError(result))
        action = memory.readValue<KernelAction>(at);
    remote.restore();
    return isSyscallError(result) || (action.flags & SA_RESTART) != 0;
}

}  // namespace

std::optional<SleepingCall> sleepingCall(pid_t tid) {
    const std::optional<std::string> text = readWholeFile(join("/proc/", tid, "/syscall"));
    SleepingCall call{};
    if (!text || std::sscanf(text->c_str(),
                             "%" SCNd64 " %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64
                             " %" SCNx64 " %" SCNx64,
                             &call.number, &call.arguments[0], &call.arguments[1], &call.arguments[2],
                             &call.arguments[3], &call.arguments[4], &call.arguments[5], &call.sp, &call.ip) != 9)
        return std::nullopt;
    return call;
}

bool endedByInterruption(const Registers& registers) noexcept {
    if (!registers.inSyscall() || registers.syscallResult() != -EINTR)
        return false;
    const std::int64_t number = registers.syscallNumber();
    if (!registers.isNative())
        return isIn(Registers::interruptedCompatCalls, number);
    return isIn(calls, number) || isIn(oldWaitingSyscalls, number);
}

void restartInterruptedCall(Tracee& tracee, const std::optional<SleepingCall>& before) {
    if (before)
        return keepCall(tracee, *before);
    Registers registers = tracee.registers();
    if (!endedByInterruption(registers))
        return;
    registers.setSyscallResult(restartNoHandler);
    tracee.setRegisters(registers);
}

void foreseeInterruption(Tracee& tracee, const std::optional<SyscallInstruction>& instruction) {
    tracee.setCallEndsWithTracer(false);
    const Registers registers = tracee.registers();
    if (!registers.restartsSyscall() || registers.syscallResult() == restartAlways)
        return;
    const auto status = readThreadStatus(tracee.tid());
    if (!status)
        throw TraceeGone(ESRCH, join("thread ", tracee.tid()));
    const SignalMask handled = status->caught & ~tracee.signalMask();
    const SignalMask ofProcess = status->threads == 1 ? status->pendingForProcess | signalBit(SIGCONT) : 0;
    const int signal = firstTaken(status->pendingForThread & handled, ofProcess & handled);
    if (signal == 0)
        return;
    if (registers.syscallResult() != restartByAction) {
        tracee.setCallEndsWithTracer(true);
        return;
    }
    if (registers.isNative() && instruction && instruction->restorer != 0)
        tracee.setCallEndsWithTracer(!restartsCalls(tracee, *instruction, signal));
}

std::optional<std::int64_t> findRestartedCall(Tracee& tracee) {
    const Registers found = tracee.registers();
    if (!goesOnByRestart(tracee, found))
        return std::nullopt;
    const SignalMask mask = tracee.signalMask();
    tracee.setSignalMask(allSignals);
    std::string function;
    tracee.syscallStep();
    if (tracee.waitStop().kind == StopInfo::Kind::Syscall)
        function = sleepIn(tracee);
    if (!tracee.stopped()) {
        tracee.interrupt();
        (void)tracee.waitStop();
    }
    if (tracee.released())
        throw TraceeGone(ESRCH, join("thread ", tracee.tid(), " in a system call that is made again"));
    tracee.requeueSignal();
    tracee.setSignalMask(mask);
    return goesOnByRestart(tracee, tracee.registers()) ? callOf(function, found) : std::nullopt;
}

}  // namespace compel
