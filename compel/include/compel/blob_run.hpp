// SPDX-License-Identifier: LGPL-2.1-only
#pragma once

#include <compel/blob.hpp>
#include <compel/remote_memory.hpp>
#include <compel/suspended_dispatch.hpp>
#include <compel/tracee.hpp>

#include <signal.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace compel {

class Injection;

/// Returns the maximum size of a signal frame in bytes. If the tracer dies during a BlobRun, the thread continues by
/// such a frame.
[[nodiscard]] std::size_t signalFrameRoom() noexcept;

/// Signal by which a blob reports its end.
struct EndSignal {
    int number;
    bool isIgnored;  ///< true if the process ignores the signal
    /// Signals that were pending for the process when the tracer chose the end signal.
    SignalMask pendingForProcess = 0;
};

/// `CallByCall`: the thread of a run stops at each system call, until BlobRun::awaitCall() has found one.
enum class Pace : std::uint8_t { Free, CallByCall };

/// Run of a blob in a thread, from Injection::start() to finish(). During the run, the thread gets only signals of
/// faults and the end signal; all other signals stay queued. finish() and the destructor restore registers, shadow
/// stack pointer and signal mask. The destructor stops a blob that still runs.
///
/// A blob must not use vector registers, because the library doesn't restore them. It must not make system calls that
/// use the restart block (RemoteSyscalls).
///
/// If the tracer dies, the blob runs to its end and restores the thread itself, also its syscall user dispatch
/// (SuspendedDispatch); the mappings of the injection stay. The kernel kills a thread that was seized with
/// `killOnExit`. A thread can't continue if it has a shadow stack, or if its seccomp filters forbid the blob's system
/// calls.
class BlobRun {
public:
    BlobRun(BlobRun&& other) noexcept;
    BlobRun(const BlobRun&) = delete;
    BlobRun& operator=(const BlobRun&) = delete;
    BlobRun& operator=(BlobRun&&) = delete;
    ~BlobRun();

    /// Waits for the end of the run and returns the result of blob_entry(). Restores the thread, even after a failure.
    /// If the blob crashes, throws Error with the address. `look`: called several times a second, as by
    /// Tracee::waitStop().
    std::int64_t finish(const std::function<void()>& look = nullptr);
    /// Waits until the blob has created a process (SeizeOptions::stopAtClone), and resumes the thread. Returns the tid
    /// of the new process. Returns nothing if the run has ended.
    std::optional<pid_t> awaitClone();
    /// Waits until the blob has made the system call `number`, in a run of Pace::CallByCall. Returns the result of the
    /// call. Returns nothing if the run has ended. The thread stays stopped after the call; finish() resumes it.
    std::optional<std::int64_t> awaitCall(std::int64_t number);
    /// Returns true if the run has ended; finish() then doesn't wait. Doesn't wait itself. If SIGSTOP has stopped the
    /// thread, resumes it.
    bool ended();

    [[nodiscard]] Tracee& tracee() noexcept { return *tracee_; }
    /// Returns the registers with which the thread continues after the run. If the thread was in an rseq critical
    /// section, it continues at the section's abort handler (rseq.hpp).
    [[nodiscard]] const Registers& savedRegisters() const noexcept { return saved_; }
    [[nodiscard]] SignalMask savedMask() const noexcept { return savedMask_; }
    /// Returns the extended state with which the thread continues (Tracee::extendedState()).
    [[nodiscard]] std::vector<std::byte> savedExtendedState() const { return tracee_->extendedState(lostState_); }

private:
    friend class Injection;
    BlobRun(Tracee& tracee, const RemoteMemory& memory, RemoteAddress code, const Blob& blob, EndSignal end, Pace pace);

    void go(std::uint64_t argument, RemoteAddress stackTop);
    [[nodiscard]] SignalMask mask() const noexcept;
    [[nodiscard]] bool mayKeepEndSignal() const noexcept;
    void proceed(int signal = 0);
    bool handleStop(const StopInfo& stop);
    [[nodiscard]] bool isFaultAgain(const siginfo_t& info, RemoteAddress ip) noexcept;
    [[nodiscard]] bool isOfThread(const siginfo_t& info) const;
    [[noreturn]] void crash(const siginfo_t& info, RemoteAddress ip);
    void restore();
    void requeueTakenSignals();
    void stopQuietly() noexcept;

    Tracee* tracee_;
    const RemoteMemory* memory_;
    RemoteAddress code_;
    const Blob* blob_;
    EndSignal end_;
    Pace pace_;
    Registers saved_;
    SignalMask savedMask_ = 0;
    std::optional<std::uint64_t> savedShadowStack_;
    std::vector<std::byte> lostState_;  ///< Tracee::stateLostInCalls() before the run
    SuspendedDispatch dispatch_;
    std::optional<Registers> returning_;  ///< ReturnPath::entry() of the signal frame
    /// Signal of the task that the kernel has taken from a queue during the run.
    struct TakenSignal {
        siginfo_t info;
        /// True if the signal was in the queue of the thread; false if it was in the queue of the process.
        bool ofThread;
    };

    std::vector<siginfo_t> ownFaults_;  ///< signals of faults that were in the thread's queue before the run
    std::vector<TakenSignal> takenSignals_;
    RemoteAddress lastFault_ = 0;  ///< instruction pointer of the thread at the most recent signal of a fault
    unsigned faultsThere_ = 0;     ///< number of consecutive signals without siginfo at this instruction pointer
    std::int64_t result_ = 0;
    bool running_ = false;
    bool ended_ = false;
};

}  // namespace compel
