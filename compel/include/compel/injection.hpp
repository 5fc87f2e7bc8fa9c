// SPDX-License-Identifier: LGPL-2.1-only
#pragma once

#include <compel/blob.hpp>
#include <compel/remote_memory.hpp>
#include <compel/tracee.hpp>

#include <signal.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace compel {

/// Returns the largest size in bytes of a signal frame. A thread whose tracer dies continues through such a frame
/// (BlobRun).
[[nodiscard]] std::size_t signalFrameRoom() noexcept;

/// Signal by which a blob reports its end.
struct EndSignal {
    int number;
    bool isIgnored;                    ///< the process ignores it
    SignalMask pendingForProcess = 0;  ///< signals that were pending for the process at the choice
};

/// A blob that runs in a thread, from Injection::start() to finish(). During the run only signals of faults and the end
/// signal reach the thread; all others stay queued. finish() and the destructor restore registers, shadow stack pointer
/// and signal mask. The destructor stops a blob that still runs. A blob uses no vector registers, so they aren't saved.
/// It must not make system calls that use the restart block (RemoteSyscalls).
///
/// If the tracer dies, the blob runs to its end and restores the thread itself; the mappings of the injection stay. The
/// thread can't continue if it was seized with `killOnExit` or has a shadow stack. It can't continue either if its
/// seccomp filters, which are in force again, forbid the blob's system calls.
class BlobRun {
public:
    BlobRun(BlobRun&& other) noexcept;
    BlobRun(const BlobRun&) = delete;
    BlobRun& operator=(const BlobRun&) = delete;
    BlobRun& operator=(BlobRun&&) = delete;
    ~BlobRun();

    /// Waits for the end and returns the result of blob_entry(). Throws an Error with the address if the blob crashes.
    /// Restores the thread in any case. Tracee::waitStop() explains `look`.
    std::int64_t finish(const std::function<void()>& look = nullptr);
    /// Checks the thread without waiting. True once the run has ended, so that finish() doesn't wait. If SIGSTOP has
    /// stopped the thread, ended() resumes it.
    bool ended();

    [[nodiscard]] Tracee& tracee() noexcept { return *tracee_; }
    /// Returns the registers with which the thread continues. A rseq critical section is already aborted in them
    /// (rseq.hpp).
    [[nodiscard]] const Registers& savedRegisters() const noexcept { return saved_; }
    [[nodiscard]] SignalMask savedMask() const noexcept { return savedMask_; }

private:
    friend class Injection;
    BlobRun(Tracee& tracee, const RemoteMemory& memory, RemoteAddress code, const Blob& blob, EndSignal end);

    void go(std::uint64_t argument, RemoteAddress stackTop);
    [[nodiscard]] SignalMask mask() const noexcept;
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
    Registers saved_;
    SignalMask savedMask_ = 0;
    std::optional<std::uint64_t> savedShadowStack_;
    /// Signal of the task that the run has dequeued.
    struct TakenSignal {
        siginfo_t info;
        bool ofThread;  ///< it was in the queue of the thread, not of the process
    };

    std::vector<siginfo_t> ownFaults_;  ///< signals of faults in the queue of the thread before the run
    std::vector<TakenSignal> takenSignals_;
    RemoteAddress lastFault_ = 0;  ///< place of the thread at its last signal of a fault
    unsigned faultsThere_ = 0;     ///< number of signals without siginfo that it got at this place in a row
    std::int64_t result_ = 0;
    bool running_ = false;
    bool ended_ = false;
};

/// Returns the system call instruction and the restorer inside the blob at `code` (blob_start.S). This saves a search
/// of the process' memory. Throws Error if the blob contains none.
SyscallInstruction syscallInstructionIn(const Blob& blob, RemoteAddress code);

/// A blob and memory for its data that are in a process already, in this order. The tracer owns the whole range.
struct InjectedMemory {
    RemoteAddress code = 0;
    RemoteAddress data = 0;
    std::uint64_t dataSize = 0;
};

/// A blob mapped into a stopped process, with memory for its data, until cure() or destruction. It changes nothing else
/// in the process. It also works for tasks that deny themselves writable code (PR_SET_MDWE).
///
/// The tracees and the blob must outlive the injection and must not move in memory.
class Injection {
public:
    /// Maps the blob. `thread` is any stopped thread of the process; it also unmaps the memory later. `dataSize` is in
    /// bytes, see RemoteSyscalls::mmapScratch(). `syscallInstruction` is passed to RemoteSyscalls.
    Injection(Tracee& thread, const Blob& blob, std::uint64_t dataSize,
              std::optional<SyscallInstruction> syscallInstruction = std::nullopt);
    /// Takes ownership of memory that is mapped already. The instruction pointer of `thread` may be inside this memory.
    /// The caller must then set other registers before it resumes the thread.
    Injection(Tracee& thread, const Blob& blob, const InjectedMemory& present);
    Injection(const Injection&) = delete;
    Injection& operator=(const Injection&) = delete;
    ~Injection();

    [[nodiscard]] RemoteAddress code() const noexcept { return code_; }
    [[nodiscard]] std::uint64_t codeSize() const noexcept { return codeSize_; }
    [[nodiscard]] RemoteAddress data() const noexcept { return data_; }
    [[nodiscard]] std::uint64_t dataSize() const noexcept { return dataSize_; }
    [[nodiscard]] RemoteAddress entry() const noexcept { return code_ + blob_.entryOffset; }
    [[nodiscard]] const RemoteMemory& memory() const noexcept { return memory_; }
    /// Returns an instruction for calls while the blob is in the process: of the process' own code if that has a
    /// restorer, else the blob's.
    [[nodiscard]] std::optional<SyscallInstruction> syscallInstruction() const noexcept { return blobsInstruction_; }

    /// Starts blob_entry(argument) in a stopped thread of the process. The stack ends at `stackTop`; before the run
    /// starts, up to signalFrameRoom() bytes of it are used. Many threads may run the blob at the same time, each on
    /// its own stack.
    [[nodiscard]] BlobRun start(Tracee& thread, std::uint64_t argument, RemoteAddress stackTop);
    std::int64_t run(Tracee& thread, std::uint64_t argument, RemoteAddress stackTop);

    /// Unmaps blob and data. All runs must have ended.
    void cure();

private:
    void unmap();

    Tracee& thread_;
    const Blob& blob_;
    RemoteMemory memory_;
    std::optional<SyscallInstruction> syscallInstruction_;  ///< valid also when the blob is unmapped
    std::optional<SyscallInstruction> blobsInstruction_;    ///< see syscallInstruction()
    EndSignal end_;
    std::uint64_t codeSize_;
    std::uint64_t dataSize_;
    RemoteAddress code_ = 0;
    RemoteAddress data_ = 0;
};

}  // namespace compel
