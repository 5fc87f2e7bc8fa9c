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

/// A set of signals as the kernel stores it: bit n-1 stands for signal n.
using SignalMask = std::uint64_t;
inline constexpr SignalMask allSignals = ~SignalMask{0};
constexpr SignalMask signalBit(int signal) noexcept {
    return SignalMask{1} << (signal - 1);
}

/// How a thread is seized.
struct SeizeOptions {
    /// The kernel kills the task if the tracer dies (PTRACE_O_EXITKILL).
    bool killOnExit = false;
    /// The thread stops where it begins to end, with all it has (PTRACE_O_TRACEEXIT): an Event stop.
    bool stopAtEnd = false;
    /// Seccomp filters and strict mode let everything pass while traced (PTRACE_O_SUSPEND_SECCOMP; the tracer needs
    /// CAP_SYS_ADMIN).
    bool suspendSeccomp = false;
    /// How long a wait for a stop may take where no other limit is given; 0: for ever. Other processes may change the
    /// code that a thread was made to run, so that it never comes to its end.
    std::chrono::milliseconds longestWait{0};
};

/// Why a thread is stopped, ptrace(2) "Stopped states".
struct StopInfo {
    enum class Kind {
        Interrupted,  ///< by PTRACE_INTERRUPT; the task itself isn't stopped
        GroupStop,    ///< `signal` is the stopping signal
        Signal,       ///< `signal` is about to be delivered
        Syscall,      ///< at the entry or the exit of a system call
        Event,        ///< `event` is the PTRACE_EVENT_ number
        Exited,       ///< ended; `status` as of waitpid(2)
    };
    Kind kind;
    int signal = 0;
    int event = 0;
    int status = 0;
};

/// Where the kernel finds a thread's restartable-sequence area, PTRACE_GET_RSEQ_CONFIGURATION.
struct RseqConfiguration {
    std::uint64_t address;
    std::uint32_t size;
    std::uint32_t signature;
    std::uint32_t flags;
};

/// A seccomp filter, PTRACE_SECCOMP_GET_FILTER.
struct SeccompFilter {
    std::vector<std::byte> program;  ///< struct sock_filter, one after the other
    std::uint64_t flags = 0;         ///< SECCOMP_FILTER_FLAG_*, those the kernel remembers
    friend bool operator==(const SeccompFilter&, const SeccompFilter&) = default;
};

/// Syscall user dispatch: system calls from outside of a range of code become SIGSYS while a byte of the task's says
/// so.
struct UserDispatch {
    std::uint64_t selector = 0;  ///< address of that byte
    std::uint64_t start = 0;
    std::uint64_t size = 0;
};

enum class SignalQueue { Thread, Process };

/// One thread seized with PTRACE_SEIZE. The kernel ties tracing to the thread that seized: all calls must come from it,
/// or from work beside it (workBesideTracer()).
/// Apart from seize(), interrupt() and the waits, everything needs the thread to be stopped. Failures throw Error;
/// TraceeGone if the thread has ended.
///
/// The destructor interrupts the thread if it runs and detaches it, with the signal it was about to be given.
class Tracee {
public:
    static Tracee seize(pid_t tid, SeizeOptions options = {});
    /// A thread that was born traced, by clone(2) with CLONE_PTRACE in a thread that the caller has seized: it stops
    /// before its first instruction, which waitStop() waits for. `options`: those of its creator, which it has
    /// inherited.
    static Tracee bornTraced(pid_t tid, SeizeOptions options) noexcept { return {tid, options}; }

    Tracee(Tracee&& other) noexcept;
    Tracee& operator=(Tracee&& other) noexcept;
    Tracee(const Tracee&) = delete;
    Tracee& operator=(const Tracee&) = delete;
    ~Tracee();

    [[nodiscard]] pid_t tid() const noexcept { return tid_; }
    /// The stop the thread is in; nothing while it runs.
    [[nodiscard]] const std::optional<StopInfo>& stopped() const noexcept { return stop_; }
    /// The thread has ended and was reaped, or has been detached.
    [[nodiscard]] bool released() const noexcept { return tid_ <= 0 || state_ == State::Released; }

    /// Asks for a stop; returns at once. Of a stopped thread: it stops again as soon as it is resumed.
    void interrupt();
    /// Throws TraceeGone if the thread ends and takes its time for that (otherwise the stop is Exited), Error
    /// (ETIMEDOUT) after SeizeOptions::longestWait. `look` is called several times a second meanwhile; what it throws
    /// ends the wait. The thread runs on in both cases.
    StopInfo waitStop(const std::function<void()>& look = nullptr);
    /// Nothing if the thread goes on running for `limit`; 0 only looks.
    std::optional<StopInfo> waitStopFor(std::chrono::nanoseconds limit);
    /// For a thread that is being killed: passes over stops until it has ended. Returns the waitpid(2) status.
    int waitEnd();
    /// The same, for one that was seized with `stopAtEnd`, until it stops there. False if it has ended.
    bool waitStopAtEnd();
    /// It is in that stop.
    [[nodiscard]] bool stoppedAtEnd() const noexcept;
    /// The same without waiting: whether it has ended, which is taken notice of. Throws TraceeGone.
    bool hasEnded();
    /// A thread seen at a signal's delivery gives it back to the queue it came from, siginfo included, and ends up in
    /// an Interrupted or GroupStop stop. (Signals that can't be blocked take effect: SIGSTOP makes a group-stop.)
    /// Does nothing in these two stops.
    void requeueSignal();

    /// Resumes; `signal` is delivered if the stop is a signal's.
    void cont(int signal = 0);
    /// Runs the thread on, one instruction after the other, until it isn't in the code from `start` to `end` any more,
    /// and has it in an Interrupted or GroupStop stop again. Signals that come meanwhile wait in their queues. For
    /// short functions: false if it is still in there after some thousand instructions, or comes to a system call,
    /// which it doesn't make: it may not return.
    ///
    /// Also false, without having run, if the thread is in a system call, or if it blocks SIGTRAP, by which each
    /// instruction is reported: the kernel would unblock it for good and make it fatal (force_sig_info_to_task()). It
    /// does the same if the process ignores that signal, which the caller has to know.
    bool leaveCode(std::uint64_t start, std::uint64_t end);

    /// Resumes until the next entry to or exit from a system call.
    void syscallStep(int signal = 0);
    /// Ends tracing; a task in group-stop stays stopped. Without a value, the signal of a Signal stop is delivered.
    void detach(std::optional<int> signal = std::nullopt);
    /// Nothing is done with the thread any more: it stays as it is until the calling thread ends.
    void disown() noexcept { state_ = State::Released; }
    /// The signal of the present stop has been dealt with: detach() doesn't deliver it.
    void swallowSignal() noexcept;

    /// May be used to change `suspendSeccomp`, `killOnExit` and `stopAtEnd` of a stopped thread.
    void setOptions(SeizeOptions options);
    [[nodiscard]] SeizeOptions options() const noexcept { return options_; }

    [[nodiscard]] Registers registers() const;
    void setRegisters(const Registers& registers);

    /// The vector and other extended state in the machine's own layout (x86: XSAVE, standard form), as long as the
    /// kernel says.
    [[nodiscard]] std::vector<std::byte> extendedState() const;
    void setExtendedState(std::span<const std::byte> state);

    /// At a Syscall stop: it is the one at the entry. PTRACE_GET_SYSCALL_INFO (5.3).
    [[nodiscard]] bool entersSyscall() const;

    /// Nothing if the thread has no shadow stack.
    [[nodiscard]] std::optional<std::uint64_t> shadowStackPointer() const;
    void setShadowStackPointer(std::uint64_t pointer);

    /// Segments of 32-bit thread-local storage; fails on a kernel that doesn't run 32-bit code.
    [[nodiscard]] ThreadSegments threadSegments() const;
    void setThreadSegments(const ThreadSegments& segments);

    /// Any other register set (PTRACE_GETREGSET) by ELF note type; empty if the machine or thread has none.
    [[nodiscard]] std::vector<std::byte> registerSet(unsigned note) const;

    /// The mask the thread has when it runs on: in the midst of sigsuspend(2) and its like, the one before.
    [[nodiscard]] SignalMask signalMask() const;
    void setSignalMask(SignalMask mask);

    /// Queued signals, oldest first; they stay queued.
    [[nodiscard]] std::vector<siginfo_t> pendingSignals(SignalQueue queue) const;
    /// siginfo of the present Signal stop.
    [[nodiscard]] siginfo_t signalInfo() const;

    /// Nothing if the thread has registered none.
    [[nodiscard]] std::optional<RseqConfiguration> rseq() const;

    /// Nothing if it's off (or the kernel is older than 6.4, which can't report it).
    [[nodiscard]] std::optional<UserDispatch> userDispatch() const;
    void setUserDispatch(const std::optional<UserDispatch>& dispatch);

    /// Seccomp filters in the order they were installed; empty if the thread has none. The tracer needs CAP_SYS_ADMIN
    /// and may have no filters itself.
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
