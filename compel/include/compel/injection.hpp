// SPDX-License-Identifier: LGPL-2.1-only
#pragma once

#include <compel/blob.hpp>
#include <compel/remote_memory.hpp>
#include <compel/suspended_dispatch.hpp>
#include <compel/tracee.hpp>

#include <signal.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace compel {

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

/// Signals of a process, as /proc/PID/status shows them.
struct SignalSets {
    SignalMask caught = 0;   ///< signals that the process handles
    SignalMask ignored = 0;  ///< signals that the process ignores
    SignalMask pending = 0;  ///< signals that are pending for the main thread or the process
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

/// Returns the addresses of the system call instruction and of the restorer inside the blob at `code` (blob_start.S).
/// With them, RemoteSyscalls needn't search the process' memory. Throws Error if the blob contains none.
SyscallInstruction syscallInstructionIn(const Blob& blob, RemoteAddress code);

/// Addresses of a blob and its data that are already in a process. The data follows the blob. The tracer owns the
/// memory of both.
struct InjectedMemory {
    RemoteAddress code = 0;
    RemoteAddress data = 0;
    std::uint64_t dataSize = 0;
};

/// Process that shall get a blob by mapBlobs().
struct InjectionRequest {
    Tracee* thread = nullptr;    ///< any stopped thread of the process
    std::uint64_t dataSize = 0;  ///< number of bytes for data
    std::optional<SyscallInstruction> syscallInstruction;
};

/// Maps a blob and memory for its data into several processes at the same time. This is faster than one process after
/// another, because a processor can run each thread while the tracer resumes others. Returns for each request the
/// memory, for the constructor of Injection. Returns nothing for a process where a call failed, or whose system call
/// instruction has no restorer; such a process is unchanged, and Injection itself maps the blob or tells the error.
std::vector<std::optional<InjectedMemory>> mapBlobs(const Blob& blob, std::span<const InjectionRequest> requests);

/// Blob that the tracer has mapped into a stopped process, together with memory for its data. cure() or the destructor
/// unmaps both. Changes no other memory of the process. Also works for tasks that have forbidden writable code
/// (PR_SET_MDWE).
///
/// The tracees and the blob must outlive the injection and must not move in memory.
class Injection {
public:
    /// Maps the blob by system calls of `thread`, any stopped thread of the process. This thread also unmaps the blob
    /// later. `dataSize`: number of bytes for data (RemoteSyscalls::mmapScratch()). `syscallInstruction`: argument for
    /// RemoteSyscalls.
    Injection(Tracee& thread, const Blob& blob, std::uint64_t dataSize,
              std::optional<SyscallInstruction> syscallInstruction = std::nullopt);
    /// Becomes the owner of memory that is already mapped. If the instruction pointer of `thread` is inside this
    /// memory, the caller must set other registers before it resumes the thread.
    /// `syscallInstruction`: instruction in the process' own code; without it, the injection uses one in the blob.
    Injection(Tracee& thread, const Blob& blob, const InjectedMemory& present,
              std::optional<SyscallInstruction> syscallInstruction = std::nullopt);
    Injection(const Injection&) = delete;
    Injection& operator=(const Injection&) = delete;
    ~Injection();

    [[nodiscard]] RemoteAddress code() const noexcept { return code_; }
    [[nodiscard]] std::uint64_t codeSize() const noexcept { return codeSize_; }
    [[nodiscard]] RemoteAddress data() const noexcept { return data_; }
    [[nodiscard]] std::uint64_t dataSize() const noexcept { return dataSize_; }
    [[nodiscard]] RemoteAddress entry() const noexcept { return code_ + blob_.entryOffset; }
    [[nodiscard]] const RemoteMemory& memory() const noexcept { return memory_; }
    /// Returns a system call instruction that RemoteSyscalls may use while the blob is in the process. If the process'
    /// own code contains a restorer, this is an instruction there; else one in the blob.
    [[nodiscard]] std::optional<SyscallInstruction> syscallInstruction() const noexcept { return blobsInstruction_; }

    /// Tells the signals of the process, so that start() needn't read /proc/PID/status. `sets`: values since the stop
    /// of the process; start() adds signals that are in the queues by then.
    void setSignals(const SignalSets& sets) noexcept { signals_ = sets; }

    /// Starts blob_entry(argument) in a stopped thread of the process. Many threads may run the blob at the same time,
    /// each on its own stack. `stackTop`: end of the stack; the signal frame needs up to signalFrameRoom() bytes of it.
    [[nodiscard]] BlobRun start(Tracee& thread, std::uint64_t argument, RemoteAddress stackTop, Pace pace = Pace::Free);
    std::int64_t run(Tracee& thread, std::uint64_t argument, RemoteAddress stackTop);

    /// Unmaps blob and data. All runs must have ended.
    void cure();
    /// Does the same for several processes at the same time. An injection whose calls failed keeps its memory; cure()
    /// then tells the error.
    static void cureAll(std::span<Injection* const> injections);
    /// Leaves blob and data in the process. The caller must unmap them. All runs must have ended.
    void leave() noexcept { code_ = data_ = 0; }

private:
    void unmap();
    /// True if code and data are one range, which the process itself can unmap by one call.
    [[nodiscard]] bool isOneRange() const noexcept;

    Tracee& thread_;
    const Blob& blob_;
    RemoteMemory memory_;
    /// System call instruction in the process' own code. Still valid when the blob is unmapped.
    std::optional<SyscallInstruction> syscallInstruction_;
    std::optional<SyscallInstruction> blobsInstruction_;  ///< result of syscallInstruction()
    std::optional<SignalSets> signals_;                   ///< see setSignals()
    std::optional<EndSignal> end_;                        ///< chosen by the first start()
    std::uint64_t codeSize_;
    std::uint64_t dataSize_;
    RemoteAddress code_ = 0;
    RemoteAddress data_ = 0;
};

}  // namespace compel
