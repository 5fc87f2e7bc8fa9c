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

/// The most bytes that a signal frame takes, by which a thread goes on whose tracer dies (see BlobRun).
[[nodiscard]] std::size_t signalFrameRoom() noexcept;

/// The signal by which a blob reports its end.
struct EndSignal {
    int number;
    bool isIgnored;  ///< the process ignores it
};

/// A blob running in a thread, from Injection::start() to finish(). All signals stay queued meanwhile but those of
/// faults and the one by which the blob reports its end. Registers, shadow stack pointer and signal mask are put back
/// at the end, also by the destructor, which stops a blob that is still running. A blob uses no vector registers, so
/// they needn't be saved. It must not make system calls that use the restart block (see RemoteSyscalls).
///
/// A blob whose tracer dies runs to its end, and puts the thread back itself; what was mapped stays. The thread
/// doesn't, if it was seized with `killOnExit`, has a shadow stack, or isn't allowed the blob's system calls by its
/// seccomp filters, which are in force again then.
class BlobRun {
public:
    BlobRun(BlobRun&& other) noexcept;
    BlobRun(const BlobRun&) = delete;
    BlobRun& operator=(const BlobRun&) = delete;
    BlobRun& operator=(BlobRun&&) = delete;
    ~BlobRun();

    /// Waits for the end and returns what blob_entry() returned. A blob that crashes is an Error saying where; the
    /// thread is put back in any case. `look`: see Tracee::waitStop().
    std::int64_t finish(const std::function<void()>& look = nullptr);
    /// Looks after the thread, without waiting, while the blob is expected to go on (it may have been sent SIGSTOP).
    /// True once the run has ended, so that finish() won't wait.
    bool ended();

    [[nodiscard]] Tracee& tracee() noexcept { return *tracee_; }
    /// What the thread goes on with; a rseq critical section it was in has been aborted (see rseq.hpp).
    [[nodiscard]] const Registers& savedRegisters() const noexcept { return saved_; }
    [[nodiscard]] SignalMask savedMask() const noexcept { return savedMask_; }

private:
    friend class Injection;
    BlobRun(Tracee& tracee, const RemoteMemory& memory, RemoteAddress code, const Blob& blob, EndSignal end);

    void go(std::uint64_t argument, RemoteAddress stackTop);
    [[nodiscard]] SignalMask mask() const noexcept;
    bool handleStop(const StopInfo& stop);
    [[nodiscard]] bool isFaultAgain(const siginfo_t& info, RemoteAddress ip) noexcept;
    [[noreturn]] void crash(const siginfo_t& info, RemoteAddress ip);
    void restore();
    void requeueForeignSignals();
    void stopQuietly() noexcept;

    Tracee* tracee_;
    const RemoteMemory* memory_;
    RemoteAddress code_;
    const Blob* blob_;
    EndSignal end_;
    Registers saved_;
    SignalMask savedMask_ = 0;
    std::optional<std::uint64_t> savedShadowStack_;
    std::vector<siginfo_t> ownFaults_;  ///< of the thread itself, which waited when it was stopped
    std::vector<siginfo_t> foreignSignals_;
    RemoteAddress lastFault_ = 0;  ///< where the thread stood when it last got a fault's signal without siginfo
    std::int64_t result_ = 0;
    bool running_ = false;
    bool ended_ = false;
};

/// Where a system call instruction lies in a process that has the blob at `code`: in the blob itself, which saves a
/// search of the process' memory. Throws Error for a blob without.
RemoteAddress syscallInstructionIn(const Blob& blob, RemoteAddress code);

/// A blob and memory for its data that are in a process already, in this order. All from the blob's start to the end of
/// the memory is the tracer's.
struct InjectedMemory {
    RemoteAddress code = 0;
    RemoteAddress data = 0;
    std::uint64_t dataSize = 0;
};

/// A blob mapped into a stopped process, with memory for its data, until cure() or destruction. Nothing else of the
/// process is changed; works for tasks that deny themselves writable code (PR_SET_MDWE).
///
/// The tracees and the blob must outlive it and stay where they are in memory.
class Injection {
public:
    /// `thread`: any stopped thread of the process; it also takes the mappings away again. `dataSize`: bytes of memory,
    /// see RemoteSyscalls::mmapScratch(). `syscallInstruction`: see RemoteSyscalls.
    Injection(Tracee& thread, const Blob& blob, std::uint64_t dataSize,
              std::optional<SyscallInstruction> syscallInstruction = std::nullopt);
    /// Takes over what somebody else has mapped. The thread that unmaps it may stand in it: nothing of it is executed
    /// any more, but the thread must be given other registers before it runs on.
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
    [[nodiscard]] std::optional<SyscallInstruction> syscallInstruction() const noexcept { return syscallInstruction_; }

    /// Starts blob_entry(argument) in a stopped thread of the process, on a stack that ends at `stackTop`, of which up
    /// to signalFrameRoom() bytes are used before that. Many threads may run it at the same time, each on its own
    /// stack.
    [[nodiscard]] BlobRun start(Tracee& thread, std::uint64_t argument, RemoteAddress stackTop);
    std::int64_t run(Tracee& thread, std::uint64_t argument, RemoteAddress stackTop);

    /// Unmaps what was mapped. All runs must have ended.
    void cure();

private:
    void unmap();

    Tracee& thread_;
    const Blob& blob_;
    RemoteMemory memory_;
    std::optional<SyscallInstruction> syscallInstruction_;
    EndSignal end_;
    std::uint64_t codeSize_;
    std::uint64_t dataSize_;
    RemoteAddress code_ = 0;
    RemoteAddress data_ = 0;
};

}  // namespace compel
