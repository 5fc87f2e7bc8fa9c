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

/// Looks for a system call instruction with a restorer in a dynamic linker, a C library and other small mappings, and
/// for any other in the vDSO and then elsewhere. Nothing if no readable executable mapping has one.
std::optional<SyscallInstruction> findSyscallInstruction(pid_t pid);
/// The same; `visit` is told the name of each mapping.
std::optional<SyscallInstruction> findSyscallInstruction(pid_t pid, const std::function<void(std::string_view)>& visit);

/// Whether a raw system call result is an error (-errno).
constexpr bool isSyscallError(std::int64_t result) noexcept {
    return result < 0 && result >= -4095;
}

/// Lets a stopped thread execute system calls without its noticing: registers and signal mask are saved, signals stay
/// queued meanwhile, and an interrupted system call of its own is afterwards restarted by the kernel as if nothing had
/// been in between. Calls that use the thread's restart block (nanosleep, poll, futex with a timeout) must not be made:
/// it can't be saved.
///
/// A thread whose tracer dies meanwhile goes on as it was, if the instruction has a restorer: a signal frame lies on
/// the unused part of the thread's stack as long as this object lives. No other memory of the process is changed,
/// unless it has no system call instruction at all; then one is written into executable memory.
///
/// Ends in the kind of stop it began in (Interrupted or GroupStop). The destructor restores; call restore() to get to
/// know of failures. While it lives nothing else may resume or alter the thread.
class RemoteSyscalls {
public:
    /// `instruction`: a result of findSyscallInstruction() for this process, looked up if not given.
    explicit RemoteSyscalls(Tracee& tracee, std::optional<SyscallInstruction> instruction = std::nullopt);
    RemoteSyscalls(const RemoteSyscalls&) = delete;
    RemoteSyscalls& operator=(const RemoteSyscalls&) = delete;
    ~RemoteSyscalls();

    /// Raw result: a value, or -errno. Throws Error only if the call couldn't be made (TraceeGone if the thread died).
    std::int64_t call(std::int64_t number, const SyscallArguments& arguments);
    template <typename... Arguments>
    std::int64_t call(std::int64_t number, Arguments... arguments) {
        static_assert(sizeof...(Arguments) <= 6);
        return call(number, SyscallArguments{static_cast<std::uint64_t>(arguments)...});
    }

    /// Like call(), but an error result becomes Error, whose text starts with `what`.
    std::uint64_t checkedCall(const char* what, std::int64_t number, const SyscallArguments& arguments);

    /// An error names the limit that has been reached.
    RemoteAddress mmap(RemoteAddress hint, std::uint64_t size, int protection, int flags, int fd = -1,
                       std::uint64_t offset = 0);
    /// Memory of zeroes for the tracer, readable and writable: anonymous and private, or shared where the process may
    /// have no more private memory (RLIMIT_DATA).
    RemoteAddress mmapScratch(std::uint64_t size);
    void munmap(RemoteAddress address, std::uint64_t size);
    void mprotect(RemoteAddress address, std::uint64_t size, int protection);

    [[nodiscard]] Tracee& tracee() noexcept { return tracee_; }
    /// What the thread goes on with; a rseq critical section it was in has been aborted (see rseq.hpp).
    [[nodiscard]] const Registers& savedRegisters() const noexcept { return saved_; }
    [[nodiscard]] SignalMask savedMask() const noexcept { return savedMask_; }

    /// Puts registers, mask and stop back. Further calls aren't possible.
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
    RemoteAddress frame_ = 0;            ///< 0: there is none
    std::vector<std::byte> belowStack_;  ///< what lay there before
    std::array<std::byte, syscallInstructionBytes.size()> overwritten_{};
    bool poked_ = false;
    bool atEntry_ = false;
    bool begun_ = false;  ///< the thread has other registers than its own
    bool moved_ = false;  ///< and has run with them
    bool restored_ = false;
};

/// Memory mapped in the traced process for as long as this lives (mmapScratch()).
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
