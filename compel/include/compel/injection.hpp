// SPDX-License-Identifier: LGPL-2.1-only
#pragma once

#include <compel/blob.hpp>
#include <compel/blob_run.hpp>
#include <compel/remote_memory.hpp>
#include <compel/tracee.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace compel {

/// Signals of a process, as /proc/PID/status shows them.
struct SignalSets {
    SignalMask caught = 0;   ///< signals that the process handles
    SignalMask ignored = 0;  ///< signals that the process ignores
    SignalMask pending = 0;  ///< signals that are pending for the main thread or the process
    SignalMask pendingForProcess = 0;
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
