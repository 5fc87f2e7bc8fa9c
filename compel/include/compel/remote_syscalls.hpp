// SPDX-License-Identifier: LGPL-2.1-only
#pragma once

#include <compel/error.hpp>
#include <compel/registers.hpp>
#include <compel/remote_memory.hpp>
#include <compel/suspended_dispatch.hpp>
#include <compel/tracee.hpp>

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

namespace compel {

class CompatCalls;

/// Finds a system call instruction in a process. First searches for an instruction with a restorer, in the dynamic
/// linker, the C library and other small mappings. Then searches for any instruction, in the vDSO and in other
/// mappings. Returns nothing if no readable executable mapping contains one.
std::optional<SyscallInstruction> findSyscallInstruction(pid_t pid);
/// Does the same, and calls `visit` with the name of each mapping. Looks at the places in `known` first, and adds a new
/// place to it.
std::optional<SyscallInstruction> findSyscallInstruction(pid_t pid, const std::function<void(std::string_view)>& visit,
                                                         KnownLibraries* known);

/// Returns true if a process has a system call instruction and a restorer at the addresses in `there`, for instance
/// because another process with the same C library has them there. Doesn't check that the code is executable.
[[nodiscard]] bool hasSyscallInstruction(pid_t pid, const SyscallInstruction& there);

/// Returns true if the result of a system call is an error (-errno).
constexpr bool isSyscallError(std::int64_t result) noexcept {
    return result < 0 && result >= -4095;
}

/// Makes system calls in a stopped thread; the thread doesn't notice them. Restores registers and signal mask
/// afterwards. Signals stay queued. The kernel then restarts an interrupted system call of the thread. Don't make calls
/// that use the thread's restart block (nanosleep, poll, futex with a timeout), because the library can't restore the
/// restart block.
///
/// If the tracer dies and the instruction has a restorer, the thread continues unchanged, by a signal frame in the
/// unused part of its stack. Syscall user dispatch is off during the calls; it stays off after the tracer's death only
/// if it allows system calls by no code with a restorer (SuspendedDispatch). A 32-bit thread needs no restorer for
/// common calls such as mmap and munmap if its process has the 32-bit vDSO. No other memory of the process changes. If
/// the process has no system call instruction, writes one into executable memory for the time of the calls.
///
/// Afterwards the thread is in the same kind of stop as before (Interrupted or GroupStop). The destructor restores the
/// thread; restore() also reports failures. While this object exists, no other code may resume or change the thread.
class RemoteSyscalls {
public:
    /// Prepares the thread. `instruction`: result of findSyscallInstruction() for the process; without it, the
    /// constructor calls findSyscallInstruction().
    explicit RemoteSyscalls(Tracee& tracee, std::optional<SyscallInstruction> instruction = std::nullopt);
    RemoteSyscalls(const RemoteSyscalls&) = delete;
    RemoteSyscalls& operator=(const RemoteSyscalls&) = delete;
    ~RemoteSyscalls();

    /// Makes a system call. Returns its result: a value, or -errno. Throws Error if the thread can't make the call, and
    /// TraceeGone if the thread has ended.
    std::int64_t call(std::int64_t number, const SyscallArguments& arguments);
    template <typename... Arguments>
    std::int64_t call(std::int64_t number, Arguments... arguments) {
        static_assert(sizeof...(Arguments) <= 6);
        return call(number, SyscallArguments{static_cast<std::uint64_t>(arguments)...});
    }

    /// Parts of call(), by which the tracer makes calls in several threads at the same time. startCall() resumes the
    /// thread. passEntry() waits until the thread enters the kernel, and resumes it. finishCall() waits for the end of
    /// the call and returns its result.
    void startCall(std::int64_t number, const SyscallArguments& arguments);
    void passEntry();
    std::int64_t finishCall();

    /// Makes a system call. If it fails, throws an Error whose text starts with `what`.
    std::uint64_t checkedCall(const char* what, std::int64_t number, const SyscallArguments& arguments);

    /// Maps memory in the process. If a limit is reached, the Error names the limit.
    RemoteAddress mmap(RemoteAddress hint, std::uint64_t size, int protection, int flags, int fd = -1,
                       std::uint64_t offset = 0);
    /// Maps zeroed, readable and writable memory in the process for the tracer. The memory is private, or shared if
    /// RLIMIT_DATA forbids more private memory. `at`: address of memory that the new memory replaces; 0 for free
    /// memory.
    RemoteAddress mmapScratch(std::uint64_t size, RemoteAddress at = 0);
    void munmap(RemoteAddress address, std::uint64_t size);
    void mprotect(RemoteAddress address, std::uint64_t size, int protection);

    [[nodiscard]] Tracee& tracee() noexcept { return tracee_; }
    /// Returns the registers with which the thread continues afterwards. If the thread was in an rseq critical section,
    /// it continues at the section's abort handler (rseq.hpp).
    [[nodiscard]] const Registers& savedRegisters() const noexcept { return saved_; }
    [[nodiscard]] SignalMask savedMask() const noexcept { return savedMask_; }

    /// Restores registers, signal mask and kind of stop. Afterwards, this object can't make calls any more.
    void restore();
    /// Resumes the thread to the stop that restore() needs, without waiting for it. The next call must be restore().
    void startRestore();

private:
    void pokeInstruction();
    void placeFrame();
    void takeFrameAway();
    void goToSyscallStop();
    void awaitSyscallStop();

    Tracee& tracee_;
    RemoteMemory memory_;
    Registers saved_;
    SignalMask savedMask_ = 0;
    std::vector<std::byte> lostState_;  ///< Tracee::stateLostInCalls() before the calls
    RemoteAddress instruction_ = 0;
    RemoteAddress restorer_ = 0;
    RemoteAddress frame_ = 0;  ///< address of the signal frame on the thread's stack; 0 if there is none
    std::unique_ptr<const CompatCalls> compat_;  ///< null unless the thread needs it to survive the tracer's death
    SuspendedDispatch dispatch_;
    std::optional<Registers> returning_;  ///< ReturnPath::entry() of the frame at `frame_`
    std::vector<std::byte> belowStack_;   ///< content of the stack that the frame replaces
    std::array<std::byte, syscallInstructionBytes.size()> overwritten_{};
    bool poked_ = false;
    bool atEntry_ = false;
    bool begun_ = false;     ///< true if the thread has other registers than its original ones
    bool moved_ = false;     ///< true if the thread has run with other registers
    bool requeues_ = false;  ///< true between startRestore() and restore()
    bool restored_ = false;
    std::int64_t number_ = 0;  ///< number and arguments of the current call
    SyscallArguments arguments_{};
};

/// Memory in the traced process. The constructor maps it (mmapScratch()), and the destructor unmaps it.
class RemoteBuffer {
public:
    RemoteBuffer(RemoteSyscalls& syscalls, std::uint64_t size);
    RemoteBuffer(const RemoteBuffer&) = delete;
    RemoteBuffer& operator=(const RemoteBuffer&) = delete;
    ~RemoteBuffer();

    [[nodiscard]] RemoteAddress address() const noexcept { return address_; }
    [[nodiscard]] std::uint64_t size() const noexcept { return size_; }

private:
    RemoteSyscalls& syscalls_;
    RemoteAddress address_;
    std::uint64_t size_;
};

}  // namespace compel
