// SPDX-License-Identifier: LGPL-2.1-only
#pragma once

#include <compel/registers.hpp>

#include <signal.h>
#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace compel {

class Backoff;

/// Set of signals in the kernel's format: bit n-1 is signal n.
using SignalMask = std::uint64_t;
inline constexpr SignalMask allSignals = ~SignalMask{0};
constexpr SignalMask signalBit(int signal) noexcept {
    return SignalMask{1} << (signal - 1);
}
/// Signals that the kernel sends to a thread for a fault of the thread (SYNCHRONOUS_MASK of Linux). The kernel delivers
/// them before other signals. If the thread blocks or ignores one at a fault, the kernel ends the process
/// (force_sig_info_to_task()).
inline constexpr SignalMask faultSignals = signalBit(SIGSEGV) | signalBit(SIGBUS) | signalBit(SIGILL) |
                                           signalBit(SIGTRAP) | signalBit(SIGFPE) | signalBit(SIGSYS);

/// Options of PTRACE_SEIZE.
struct SeizeOptions {
    /// True if the kernel must kill the task when the tracer ends (PTRACE_O_EXITKILL).
    bool killOnExit = false;
    /// True if the kernel must stop an ending thread before it frees the thread's resources (PTRACE_O_TRACEEXIT, an
    /// Event stop).
    bool stopAtEnd = false;
    /// True if the kernel must stop the thread when it has created a process by clone(2) with another exit signal than
    /// SIGCHLD (PTRACE_O_TRACECLONE, an Event stop). The kernel then also traces the new process (bornTraced()).
    bool stopAtClone = false;
    /// True if the kernel must suspend seccomp filters and strict mode of the task while it is traced
    /// (PTRACE_O_SUSPEND_SECCOMP). The tracer needs CAP_SYS_ADMIN.
    bool suspendSeccomp = false;
    /// Timeout of waits for a stop that have no other limit; 0 means no limit. Needed because another process may
    /// change the code that a thread runs. The thread may then never stop.
    std::chrono::milliseconds longestWait{0};
};

/// Reason why a thread is stopped (ptrace(2), "Stopped states").
struct StopInfo {
    enum class Kind {
        Interrupted,  ///< stop of PTRACE_INTERRUPT; the process isn't in group-stop
        GroupStop,    ///< the process is stopped by `signal`
        Signal,       ///< the kernel is about to deliver `signal`
        Syscall,      ///< the thread is at the entry or the exit of a system call
        Event,        ///< event `event` (PTRACE_EVENT_*)
        Exited,       ///< the thread has ended; `status` is that of waitpid(2)
    };
    Kind kind;
    int signal = 0;
    int event = 0;
    int status = 0;
};

/// Registration of the thread's rseq area (PTRACE_GET_RSEQ_CONFIGURATION).
struct RseqConfiguration {
    std::uint64_t address;
    std::uint32_t size;
    std::uint32_t signature;
    std::uint32_t flags;
};

/// Seccomp filter of a thread (PTRACE_SECCOMP_GET_FILTER).
struct SeccompFilter {
    std::vector<std::byte> program;  ///< array of struct sock_filter
    std::uint64_t flags = 0;         ///< SECCOMP_FILTER_FLAG_* that the kernel reports
    friend bool operator==(const SeccompFilter&, const SeccompFilter&) = default;
};

/// Setting of syscall user dispatch. While the selector byte is set, system calls by code outside of the range `start`,
/// `size` raise SIGSYS. The range may wrap around the end of the address space.
struct UserDispatch {
    std::uint64_t selector = 0;  ///< address of the selector byte
    std::uint64_t start = 0;
    std::uint64_t size = 0;
};

enum class SignalQueue { Thread, Process };

/// System call in which a thread sleeps.
struct SleepingCall {
    std::int64_t number;
    SyscallArguments arguments;
    std::uint64_t sp;
    std::uint64_t ip;  ///< address after the system call instruction

    /// Returns true if the thread returns from this call with EINTR.
    [[nodiscard]] bool fails(const Registers& registers) const noexcept;
    /// Returns true if the thread is about to make this call again from its start.
    [[nodiscard]] bool repeats(const Registers& registers) const noexcept;
};

/// Thread that is seized by PTRACE_SEIZE. All functions must be called by the seizing thread, because only this thread
/// may make ptrace calls, or inside workBesideTracer(). The thread must be stopped, except for seize(), interrupt() and
/// waits. All functions throw Error after a failure, or TraceeGone if the thread has ended.
///
/// The destructor interrupts a running thread and detaches it. If the thread is in a Signal stop, the kernel then
/// delivers the signal.
class Tracee {
public:
    static Tracee seize(pid_t tid, SeizeOptions options = {});
    /// Makes the object for a thread that is traced since its creation: a seized thread has created it by clone(2) with
    /// CLONE_PTRACE, or with SeizeOptions::stopAtClone. The new thread stops before its first instruction; use
    /// waitStop() to wait for this stop. `options`: options of the creator, because the new thread inherits them.
    static Tracee bornTraced(pid_t tid, SeizeOptions options) noexcept { return {tid, options}; }

    Tracee(Tracee&& other) noexcept;
    Tracee& operator=(Tracee&& other) noexcept;
    Tracee(const Tracee&) = delete;
    Tracee& operator=(const Tracee&) = delete;
    ~Tracee();

    [[nodiscard]] pid_t tid() const noexcept { return tid_; }
    /// Returns the thread's current stop; nothing while it runs.
    [[nodiscard]] const std::optional<StopInfo>& stopped() const noexcept { return stop_; }
    /// Returns true if the thread was reaped or detached.
    [[nodiscard]] bool released() const noexcept { return tid_ <= 0 || state_ == State::Released; }

    /// Requests a stop without waiting. A thread that is already stopped stops again as soon as it is resumed.
    void interrupt();
    /// Waits for a stop. If the thread has ended, returns the stop Exited. Throws TraceeGone if the thread is ending
    /// but hasn't ended, and Error (ETIMEDOUT) after SeizeOptions::longestWait. `look`: called several times a second;
    /// an exception of `look` ends the wait.
    StopInfo waitStop(const std::function<void()>& look = nullptr);
    /// Waits at most `limit` for a stop; 0 means no wait. Returns nothing if the thread still runs.
    std::optional<StopInfo> waitStopFor(std::chrono::nanoseconds limit);
    /// Waits like waitStopFor(), as a part of a longer wait. `backoff`: pauses of the whole wait.
    std::optional<StopInfo> waitStopFor(std::chrono::nanoseconds limit, Backoff& backoff);
    /// Returns the tid of the new process if the thread is in the stop of SeizeOptions::stopAtClone; nothing in other
    /// stops.
    [[nodiscard]] std::optional<pid_t> createdByClone() const;
    /// Waits for the end of a killed thread, and ignores stops. Returns the status of waitpid(2).
    int waitEnd();
    /// Waits until an ending thread is in the stop of SeizeOptions::stopAtEnd. Returns false if the thread has ended.
    bool waitStopAtEnd();
    /// Returns true if the thread is in the stop of SeizeOptions::stopAtEnd.
    [[nodiscard]] bool stoppedAtEnd() const noexcept;
    /// Returns true if the thread has ended, and reaps it. Resumes a thread that is in the stop of
    /// SeizeOptions::stopAtEnd. Doesn't wait. Throws TraceeGone.
    bool hasEnded();
    /// Puts the signal of a Signal stop back into its queue, with its siginfo. Afterwards the thread is in an
    /// Interrupted or GroupStop stop. Does nothing in these two stops. A signal that can't be blocked has its effect:
    /// SIGSTOP makes a group-stop.
    void requeueSignal();
    /// Begins requeueSignal() without a wait: if the thread is in a Syscall or Event stop, resumes it to an Interrupted
    /// stop and returns true. The caller must wait for the stop, and then call requeueSignal().
    bool startRequeue();

    /// Resumes the thread. `signal`: signal that the kernel delivers if the thread is in a Signal stop; 0 for none.
    void cont(int signal = 0);
    /// Single-steps the thread until it has left the code from `start` to `end`. Afterwards the thread is in an
    /// Interrupted or GroupStop stop. Signals that arrive during this time stay queued. Returns false after some
    /// thousand instructions. Also returns false before a system call, because the call might not return.
    ///
    /// Returns false without a step if the thread is in a system call or blocks SIGTRAP. The kernel reports each step
    /// by SIGTRAP. It would unblock a blocked SIGTRAP permanently and make it fatal (force_sig_info_to_task()). The
    /// same would happen if the process ignores SIGTRAP; the caller must check this.
    bool leaveCode(std::uint64_t start, std::uint64_t end);

    /// Resumes the thread until its next entry to or exit from a system call.
    void syscallStep(int signal = 0);
    /// Ends tracing. A task in group-stop stays stopped. `signal`: signal that the kernel delivers after a Signal stop.
    /// Without a value, it delivers the signal of the stop.
    void detach(std::optional<int> signal = std::nullopt);
    /// Makes this object forget the thread without a ptrace call. The thread stays traced until the calling thread
    /// ends.
    void disown() noexcept { state_ = State::Released; }
    /// Discards the signal of the current stop, so that detach() doesn't deliver it.
    void swallowSignal() noexcept;

    /// Changes the ptrace options `suspendSeccomp`, `killOnExit` and `stopAtEnd` of a stopped thread.
    void setOptions(SeizeOptions options);
    [[nodiscard]] SeizeOptions options() const noexcept { return options_; }

    /// Returns the registers. Makes a ptrace call only if it is the first request since the last stop or change,
    /// because the registers of a stopped thread don't change.
    [[nodiscard]] Registers registers() const;
    void setRegisters(const Registers& registers);

    /// True if the thread's interrupted system call must fail with EINTR after the tracer's death, and must not start
    /// again (foreseeInterruption()). Makes no ptrace call.
    [[nodiscard]] bool callEndsWithTracer() const noexcept { return callEnds_; }
    void setCallEndsWithTracer(bool ends) noexcept { callEnds_ = ends; }

    /// Remembers the call to which a tracer has rewound the thread (restartInterruptedCall()). If a signal with a
    /// handler is pending when the thread is detached, the call fails with EINTR, as it does without a tracer. A signal
    /// that comes later makes the call start again after the handler. Makes no ptrace call.
    void setRewoundCall(const SleepingCall& call) { rewound_ = call; }

    /// Returns vector registers and other extended state in the processor's layout (x86: XSAVE, standard form). The
    /// size is that of the kernel. `lost`: an earlier result of stateLostInCalls(), which is returned in place of the
    /// present values.
    [[nodiscard]] std::vector<std::byte> extendedState(std::span<const std::byte> lost = {}) const;
    /// Sets the state, or the part of it that stateLostInCalls() has returned.
    void setExtendedState(std::span<const std::byte> state);
    /// Returns the part of the extended state that a system call of the thread clears (aarch64: SVE registers, by the
    /// kernel's Documentation/arm64/sve.rst). Empty if there is none.
    [[nodiscard]] std::vector<std::byte> stateLostInCalls() const;

    /// Returns true if the thread is in a Syscall stop at the entry of a system call (PTRACE_GET_SYSCALL_INFO, Linux
    /// 5.3).
    [[nodiscard]] bool entersSyscall() const;

    /// Returns the shadow stack pointer; nothing if the thread has no shadow stack.
    [[nodiscard]] std::optional<std::uint64_t> shadowStackPointer() const;
    void setShadowStackPointer(std::uint64_t pointer);

    /// Returns the segments for thread-local storage of 32-bit code. Fails on a kernel that doesn't run 32-bit code.
    [[nodiscard]] ThreadSegments threadSegments() const;
    void setThreadSegments(const ThreadSegments& segments);

    /// Returns a register set (PTRACE_GETREGSET). Returns an empty list if the processor or the thread doesn't have
    /// this register set. `note`: ELF note type of the register set.
    [[nodiscard]] std::vector<std::byte> registerSet(unsigned note) const;

    /// Returns the signal mask with which the thread continues. In sigsuspend(2) and similar calls, this is the mask
    /// before the call.
    [[nodiscard]] SignalMask signalMask() const;
    void setSignalMask(SignalMask mask);

    /// Returns the queued signals, beginning with the oldest. The signals stay queued.
    [[nodiscard]] std::vector<siginfo_t> pendingSignals(SignalQueue queue) const;
    /// Returns the siginfo of the current Signal stop.
    [[nodiscard]] siginfo_t signalInfo() const;

    /// Returns the registration of the rseq area; nothing if the thread hasn't registered one.
    [[nodiscard]] std::optional<RseqConfiguration> rseq() const;

    /// Returns the setting of syscall user dispatch. Returns nothing if dispatch is off, or if the kernel is older than
    /// 6.4, because it can't report the setting.
    [[nodiscard]] std::optional<UserDispatch> userDispatch() const;
    void setUserDispatch(const std::optional<UserDispatch>& dispatch);
    /// Result of a search for code from which dispatch allows system calls, in a range that isn't empty.
    struct AllowedCode {
        std::uint64_t start = 0;
        std::uint64_t size = 0;         ///< 0 if there was no search
        std::uint64_t instruction = 0;  ///< address of a system call instruction; 0 if the search has failed
        std::uint64_t restorer = 0;
    };
    /// Remembers the last search (SuspendedDispatch). Makes no ptrace call.
    [[nodiscard]] AllowedCode allowedCode() const noexcept { return allowedCode_; }
    void setAllowedCode(AllowedCode code) noexcept { allowedCode_ = code; }

    /// Returns the thread's seccomp filters in the order of their installation. The tracer needs CAP_SYS_ADMIN, and
    /// must not have seccomp filters itself.
    [[nodiscard]] std::vector<SeccompFilter> seccompFilters() const;

private:
    enum class State { Running, Stopped, Released };

    Tracee(pid_t tid, SeizeOptions options) noexcept : tid_(tid), options_(options) {}
    void resume(long request, int signal);
    StopInfo noteStatus(int status);
    std::optional<StopInfo> pollStop(int flags);
    void endRewoundCall();
    void releaseQuietly() noexcept;
    void reap(std::chrono::nanoseconds limit) noexcept;
    [[nodiscard]] Registers readRegisters() const;
    void writeRegisters(const Registers& registers);
    long request(const char* name, long number, std::uint64_t address, std::uint64_t data) const;
    [[noreturn]] void failRequest(const char* name, int code) const;

    pid_t tid_;
    SeizeOptions options_;
    State state_ = State::Running;
    bool callEnds_ = false;  ///< see callEndsWithTracer()
    std::optional<SleepingCall> rewound_;
    AllowedCode allowedCode_;
    std::optional<StopInfo> stop_;
    mutable std::optional<Registers> registers_;  ///< result of registers(), until the thread runs or gets others
};

}  // namespace compel
