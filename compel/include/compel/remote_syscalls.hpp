// SPDX-License-Identifier: LGPL-2.1-only
#pragma once

#include <compel/error.hpp>
#include <compel/registers.hpp>
#include <compel/remote_memory.hpp>
#include <compel/tracee.hpp>

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

namespace compel {

/// Finds a system call instruction. Searches for one with a restorer in the dynamic linker, the C library and other
/// small mappings; then for any instruction in the vDSO, then elsewhere. Nothing if no readable executable mapping has
/// one.
std::optional<SyscallInstruction> findSyscallInstruction(pid_t pid);
/// Does the same and passes the name of each mapping to `visit`.
std::optional<SyscallInstruction> findSyscallInstruction(pid_t pid, const std::function<void(std::string_view)>& visit);

/// True if a raw system call result is an error (-errno).
constexpr bool isSyscallError(std::int64_t result) noexcept {
    return result < 0 && result >= -4095;
}

/// Makes system calls in a stopped thread, invisibly to the thread. Registers and signal mask are saved, signals stay
/// queued. The kernel afterwards restarts an interrupted system call of the thread. Calls that use the thread's restart
/// block (nanosleep, poll, futex with a timeout) are forbidden, because the restart block can't be saved.
///
/// If the tracer dies, the thread continues unchanged, provided the instruction has a restorer: while this object
/// lives, a signal frame lies on the unused part of the thread's stack. No other memory of the process changes. Only if
/// the process has no system call instruction, one is written into executable memory.
///
/// The thread ends in the kind of stop it began in (Interrupted or GroupStop). The destructor restores the thread;
/// restore() also reports failures. While this object lives, no other code may resume or change the thread.
class RemoteSyscalls {
public:
    /// Prepares the thread. `instruction` is a result of findSyscallInstruction() for this process, which is called if
    /// it isn't given.
    explicit RemoteSyscalls(Tracee& tracee, std::optional<SyscallInstruction> instruction = std::nullopt);
    RemoteSyscalls(const RemoteSyscalls&) = delete;
    RemoteSyscalls& operator=(const RemoteSyscalls&) = delete;
    ~RemoteSyscalls();

    /// Makes a system call. Returns the raw result: a value, or -errno. Throws Error only if the call couldn't be made
    /// (TraceeGone if the thread died).
    std::int64_t call(std::int64_t number, const SyscallArguments& arguments);
    template <typename... Arguments>
    std::int64_t call(std::int64_t number, Arguments... arguments) {
        static_assert(sizeof...(Arguments) <= 6);
        return call(number, SyscallArguments{static_cast<std::uint64_t>(arguments)...});
    }

    /// Makes a system call. An error result becomes an Error whose text starts with `what`.
    std::uint64_t checkedCall(const char* what, std::int64_t number, const SyscallArguments& arguments);

    /// Maps memory in the process. An error names the limit that has been reached.
    RemoteAddress mmap(RemoteAddress hint, std::uint64_t size, int protection, int flags, int fd = -1,
                       std::uint64_t offset = 0);
    /// Maps zeroed memory for the tracer, readable and writable. It is anonymous and private, or shared where
    /// RLIMIT_DATA forbids more private memory.
    RemoteAddress mmapScratch(std::uint64_t size);
    void munmap(RemoteAddress address, std::uint64_t size);
    void mprotect(RemoteAddress address, std::uint64_t size, int protection);

    [[nodiscard]] Tracee& tracee() noexcept { return tracee_; }
    /// Returns the registers with which the thread continues. A rseq critical section is already aborted in them
    /// (rseq.hpp).
    [[nodiscard]] const Registers& savedRegisters() const noexcept { return saved_; }
    [[nodiscard]] SignalMask savedMask() const noexcept { return savedMask_; }

    /// Restores registers, mask and stop. No calls are possible afterwards.
    void restore();

private:
    void pokeInstruction();
    void placeFrame();
    void takeFrameAway();
    void runToSyscallStop();

    Tracee& tracee_;
    RemoteMemory memory_;
    Registers saved_;
    SignalMask savedMask_ = 0;
    RemoteAddress instruction_ = 0;
    RemoteAddress restorer_ = 0;
    RemoteAddress frame_ = 0;            ///< 0 means none
    std::vector<std::byte> belowStack_;  ///< content of the stack that the frame replaced
    std::array<std::byte, syscallInstructionBytes.size()> overwritten_{};
    bool poked_ = false;
    bool atEntry_ = false;
    bool begun_ = false;  ///< the thread has registers other than its original ones
    bool moved_ = false;  ///< the thread has run with these registers
    bool restored_ = false;
};

/// Memory mapped in the traced process during the lifetime of this object (mmapScratch()).
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
