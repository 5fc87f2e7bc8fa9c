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

/// Set of signals in the kernel's format: bit n-1 stands for signal n.
using SignalMask = std::uint64_t;
inline constexpr SignalMask allSignals = ~SignalMask{0};
constexpr SignalMask signalBit(int signal) noexcept {
    return SignalMask{1} << (signal - 1);
}

/// Options of PTRACE_SEIZE.
struct SeizeOptions {
    /// Makes the kernel kill the task if the tracer dies (PTRACE_O_EXITKILL).
    bool killOnExit = false;
    /// Stops the thread when it begins to end, before it frees its resources (PTRACE_O_TRACEEXIT, an Event stop).
    bool stopAtEnd = false;
    /// Lets seccomp filters and strict mode allow everything while traced (PTRACE_O_SUSPEND_SECCOMP). The tracer needs
    /// CAP_SYS_ADMIN.
    bool suspendSeccomp = false;
    /// Timeout of waits for a stop that have no other limit; 0 means none. Other processes may change the code that a
    /// thread runs, so that it never reaches its end.
    std::chrono::milliseconds longestWait{0};
};

/// Reason why a thread is stopped, ptrace(2) "Stopped states".
struct StopInfo {
    enum class Kind {
        Interrupted,  ///< by PTRACE_INTERRUPT; the task itself isn't stopped
        GroupStop,    ///< `signal` is the stopping signal
        Signal,       ///< `signal` is about to be delivered
        Syscall,      ///< at the entry or the exit of a system call
        Event,        ///< `event` is the PTRACE_EVENT_ number
        Exited,       ///< ended; `status` is that of waitpid(2)
    };
    Kind kind;
    int signal = 0;
    int event = 0;
    int status = 0;
};

/// Registration of the thread's rseq area, PTRACE_GET_RSEQ_CONFIGURATION.
struct RseqConfiguration {
    std::uint64_t address;
    std::uint32_t size;
    std::uint32_t signature;
    std::uint32_t flags;
};

/// Seccomp filter, PTRACE_SECCOMP_GET_FILTER.
struct SeccompFilter {
    std::vector<std::byte> program;  ///< array of struct sock_filter
    std::uint64_t flags = 0;         ///< SECCOMP_FILTER_FLAG_* that the kernel reports
    friend bool operator==(const SeccompFilter&, const SeccompFilter&) = default;
};

/// Syscall user dispatch: while the selector byte is set, system calls from outside the range of code raise SIGSYS.
struct UserDispatch {
    std::uint64_t selector = 0;  ///< address of the selector byte
    std::uint64_t start = 0;
    std::uint64_t size = 0;
};

enum class SignalQueue { Thread, Process };

/// One thread seized with PTRACE_SEIZE. The kernel ties tracing to the seizing thread: all calls must come from it, or
/// from work beside it (workBesideTracer()). Except for seize(), interrupt() and the waits, the thread must be stopped.
/// Failures throw Error, or TraceeGone if the thread has ended.
///
/// The destructor interrupts a running thread and detaches it, and delivers the signal of a Signal stop.
class Tracee {
public:
    static Tracee seize(pid_t tid, SeizeOptions options = {});
    /// Creates the object for a thread that clone(2) with CLONE_PTRACE has created in a thread that the caller has
    /// seized. The new thread stops before its first instruction; waitStop() waits for that. It inherits `options` from
    /// its creator.
    static Tracee bornTraced(pid_t tid, SeizeOptions options) noexcept { return {tid, options}; }

    Tracee(Tracee&& other) noexcept;
    Tracee& operator=(Tracee&& other) noexcept;
    Tracee(const Tracee&) = delete;
    Tracee& operator=(const Tracee&) = delete;
    ~Tracee();

    [[nodiscard]] pid_t tid() const noexcept { return tid_; }
    /// Returns the thread's current stop; nothing while it runs.
    [[nodiscard]] const std::optional<StopInfo>& stopped() const noexcept { return stop_; }
    /// True if the thread has ended and was reaped, or has been detached.
    [[nodiscard]] bool released() const noexcept { return tid_ <= 0 || state_ == State::Released; }

    /// Requests a stop and returns at once. A stopped thread stops again as soon as it is resumed.
    void interrupt();
    /// Waits for a stop. Throws Error (ETIMEDOUT) after SeizeOptions::longestWait. A thread that has ended gives the
    /// stop Exited; a thread that takes long to end gives TraceeGone. `look` is called several times a second; an
    /// exception of it ends the wait. The thread runs on in both cases.
    StopInfo waitStop(const std::function<void()>& look = nullptr);
    /// Waits up to `limit` for a stop; 0 only polls. Nothing if the thread still runs.
    std::optional<StopInfo> waitStopFor(std::chrono::nanoseconds limit);
    /// Waits for the end of a killed thread, across all stops. Returns the waitpid(2) status.
    int waitEnd();
    /// Waits until a thread that was seized with `stopAtEnd` stops there. False if it has ended.
    bool waitStopAtEnd();
    /// True if the thread is in the stop of `stopAtEnd`.
    [[nodiscard]] bool stoppedAtEnd() const noexcept;
    /// Polls whether the thread has ended, and reaps it. Resumes it from the stop of `stopAtEnd`. Throws TraceeGone.
    bool hasEnded();
    /// Returns the signal of a Signal stop to its queue, with its siginfo. The thread ends up in an Interrupted or
    /// GroupStop stop. (Signals that can't be blocked take effect: SIGSTOP makes a group-stop.) Does nothing in these
    /// two stops.
    void requeueSignal();

    /// Resumes the thread. `signal` is delivered if the stop is a Signal stop.
    void cont(int signal = 0);
    /// Steps the thread until it has left the code from `start` to `end`, and leaves it in an Interrupted or GroupStop
    /// stop. Signals that arrive during this time stay queued. For short functions: returns false after some thousand
    /// instructions, or before a system call, which might not return.
    ///
    /// Also returns false, without a step, if the thread is in a system call or blocks SIGTRAP, which reports each
    /// step. The kernel would unblock SIGTRAP permanently and make it fatal (force_sig_info_to_task()). It does the
    /// same if the process ignores SIGTRAP; the caller must check that.
    bool leaveCode(std::uint64_t start, std::uint64_t end);

    /// Resumes the thread until the next entry to or exit from a system call.
    void syscallStep(int signal = 0);
    /// Ends tracing. A task in group-stop stays stopped. Without a value, the signal of a Signal stop is delivered.
    void detach(std::optional<int> signal = std::nullopt);
    /// Releases the thread without a call: it stays stopped or running until the calling thread ends.
    void disown() noexcept { state_ = State::Released; }
    /// Discards the signal of the present stop, so that detach() doesn't deliver it.
    void swallowSignal() noexcept;

    /// Changes ptrace options of a stopped thread: `suspendSeccomp`, `killOnExit` and `stopAtEnd`.
    void setOptions(SeizeOptions options);
    [[nodiscard]] SeizeOptions options() const noexcept { return options_; }

    [[nodiscard]] Registers registers() const;
    void setRegisters(const Registers& registers);

    /// Returns vector and other extended state in the processor's layout (x86: XSAVE, standard form), with the kernel's
    /// length.
    [[nodiscard]] std::vector<std::byte> extendedState() const;
    void setExtendedState(std::span<const std::byte> state);

    /// True if a Syscall stop is the one at the entry. PTRACE_GET_SYSCALL_INFO (Linux 5.3).
    [[nodiscard]] bool entersSyscall() const;

    /// Returns nothing if the thread has no shadow stack.
    [[nodiscard]] std::optional<std::uint64_t> shadowStackPointer() const;
    void setShadowStackPointer(std::uint64_t pointer);

    /// Segments of 32-bit thread-local storage. Fails on a kernel that doesn't run 32-bit code.
    [[nodiscard]] ThreadSegments threadSegments() const;
    void setThreadSegments(const ThreadSegments& segments);

    /// Returns any other register set (PTRACE_GETREGSET) by ELF note type; empty if the processor or the thread has
    /// none.
    [[nodiscard]] std::vector<std::byte> registerSet(unsigned note) const;

    /// Returns the signal mask with which the thread continues. Inside sigsuspend(2) and similar calls it is the mask
    /// before the call.
    [[nodiscard]] SignalMask signalMask() const;
    void setSignalMask(SignalMask mask);

    /// Returns queued signals, oldest first. They stay queued.
    [[nodiscard]] std::vector<siginfo_t> pendingSignals(SignalQueue queue) const;
    /// Returns siginfo of the present Signal stop.
    [[nodiscard]] siginfo_t signalInfo() const;

    /// Returns nothing if the thread has registered no rseq area.
    [[nodiscard]] std::optional<RseqConfiguration> rseq() const;

    /// Returns nothing if dispatch is off. Kernels before 6.4 can't report it.
    [[nodiscard]] std::optional<UserDispatch> userDispatch() const;
    void setUserDispatch(const std::optional<UserDispatch>& dispatch);

    /// Returns seccomp filters in the order of installation. The tracer needs CAP_SYS_ADMIN and must have no filters
    /// itself.
    [[nodiscard]] std::vector<SeccompFilter> seccompFilters() const;

private:
    enum class State { Running, Stopped, Released };

    Tracee(pid_t tid, SeizeOptions options) noexcept : tid_(tid), options_(options) {}
    void resume(long request, int signal);
    StopInfo noteStatus(int status);
    std::optional<StopInfo> pollStop(int flags);
    void releaseQuietly() noexcept;
    void reap(std::chrono::nanoseconds limit) noexcept;
    long request(const char* name, long number, std::uint64_t address, std::uint64_t data) const;
    [[noreturn]] void failRequest(const char* name, int code) const;

    pid_t tid_;
    SeizeOptions options_;
    State state_ = State::Running;
    std::optional<StopInfo> stop_;
};

}  // namespace compel
