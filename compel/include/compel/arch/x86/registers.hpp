// SPDX-License-Identifier: LGPL-2.1-only
#pragma once

#include <asm/ldt.h>
#include <sys/syscall.h>
#include <sys/user.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace compel {

/// Number of poll(2) on processors that have it. Other processors only have ppoll(2), which needs no restart block.
inline constexpr std::optional<std::int64_t> pollSyscall = SYS_poll;

/// Numbers of old blocking system calls that not every processor has. They return EINTR when they are interrupted.
inline constexpr std::array<std::int64_t, 2> oldWaitingSyscalls{SYS_epoll_wait, SYS_select};

/// Arguments of a system call in the order of its man page; unused ones are 0.
using SyscallArguments = std::array<std::uint64_t, 6>;

/// General-purpose registers of a stopped thread, as PTRACE_GETREGS shows them.
struct Registers {
    user_regs_struct raw{};

    [[nodiscard]] std::uint64_t ip() const noexcept { return raw.rip; }
    void setIp(std::uint64_t value) noexcept { raw.rip = value; }

    [[nodiscard]] std::uint64_t sp() const noexcept { return raw.rsp; }
    void setSp(std::uint64_t value) noexcept { raw.rsp = value; }

    /// Base of thread-local storage (%fs).
    [[nodiscard]] std::uint64_t threadPointer() const noexcept { return raw.fs_base; }

    /// Returns the number of the system call that the thread is in or returns from. Negative if the thread entered the
    /// kernel by an interrupt or a fault.
    [[nodiscard]] std::int64_t syscallNumber() const noexcept { return static_cast<std::int64_t>(raw.orig_rax); }
    void setSyscallNumber(std::int64_t value) noexcept { raw.orig_rax = static_cast<std::uint64_t>(value); }
    [[nodiscard]] bool inSyscall() const noexcept { return syscallNumber() >= 0; }

    /// Returns argument `index` (0 to 5) of the system call that the thread is in or about to enter.
    [[nodiscard]] std::uint64_t syscallArgument(std::size_t index) const noexcept {
        return raw.*argumentRegisters[index];
    }
    /// Changes an argument at the entry of a system call. The kernel uses the new value.
    void setSyscallArgument(std::size_t index, std::uint64_t value) noexcept { raw.*argumentRegisters[index] = value; }

    /// Returns the result of the system call: a value, or -errno in [-4095, -1].
    [[nodiscard]] std::int64_t syscallResult() const noexcept { return static_cast<std::int64_t>(raw.rax); }
    void setSyscallResult(std::int64_t value) noexcept { raw.rax = static_cast<std::uint64_t>(value); }

    /// Cancels a system call in progress: the kernel restarts nothing, and skips the call at a syscall-entry-stop.
    void leaveSyscall() noexcept { raw.orig_rax = ~std::uint64_t{0}; }

    /// True if the kernel will restart the thread's interrupted system call (result -ERESTART*).
    [[nodiscard]] bool restartsSyscall() const noexcept {
        const auto result = syscallResult();
        return inSyscall() && result <= -512 && result >= -516 && result != -515;
    }

    /// Returns the registers with which the kernel would resume the thread: the interrupted system call is entered
    /// again. A call that the kernel would continue by the restart block is entered with its original arguments.
    [[nodiscard]] Registers restarted() const noexcept {
        Registers changed = *this;
        if (restartsSyscall()) {
            changed.setSyscallResult(syscallNumber());
            changed.raw.rip -= 2;  // length of the instruction
        }
        changed.leaveSyscall();
        return changed;
    }

    /// Bytes below the stack pointer that the running function may use (red zone).
    static constexpr std::uint64_t belowStack = 128;

    /// Sets the stack pointer so that a return instruction continues through the signal frame at `frame`.
    void setReturnFrame(std::uint64_t frame) noexcept { raw.rsp = frame; }

    /// Prepares system call `number`. `instruction` is the address of a system call instruction.
    void setCall(std::int64_t number, const SyscallArguments& arguments, std::uint64_t instruction) noexcept {
        leaveSyscall();
        raw.cs = codeSegment64;
        raw.rip = instruction;
        raw.rax = static_cast<std::uint64_t>(number);
        for (std::size_t index = 0; index < arguments.size(); ++index)
            setSyscallArgument(index, arguments[index]);
    }

    /// Prepares a jump to a blob's start. `argument` is its first parameter, `stackTop` the exclusive end of its stack.
    /// blob_start.S explains `endSignal`. Without a tracer the blob ends through the signal frame `frame`; 0 means
    /// none.
    void setEntry(std::uint64_t entry, std::uint64_t argument, std::uint64_t stackTop, int endSignal,
                  std::uint64_t frame) noexcept {
        constexpr std::uint64_t traceAndDirection = 0x100 | 0x400;
        leaveSyscall();
        raw.cs = codeSegment64;
        raw.rip = entry;
        raw.rsp = stackTop & ~std::uint64_t{15};
        raw.rbp = 0;
        raw.rdi = argument;
        raw.rax = 0;
        raw.r12 = frame;
        raw.r13 = static_cast<std::uint64_t>(endSignal);
        raw.eflags &= ~traceAndDirection;
    }

    /// Returns the pid to which the blob sent its end signal. Valid at the stop that ends the run.
    [[nodiscard]] std::int32_t blobProcess() const noexcept { return static_cast<std::int32_t>(raw.rdi); }
    /// Returns the result of the blob's entry function. Valid at the stop that ends the run (blob_start.S).
    [[nodiscard]] std::int64_t blobResult() const noexcept { return static_cast<std::int64_t>(raw.rbx); }

    /// False for a thread that runs 32-bit code, whose system calls have other numbers. setCall() and setEntry() switch
    /// such a thread to 64-bit code, too. Segment registers other than cs have no meaning there.
    [[nodiscard]] bool isNative() const noexcept { return raw.cs == codeSegment64; }

    /// Numbers that 32-bit code uses for the calls of compel/src/interrupted_call.cpp
    /// (arch/x86/entry/syscalls/syscall_32.tbl of Linux).
    static constexpr std::int64_t interruptedCompatCalls[] = {
        3,    // read
        4,    // write
        82,   // select with one argument
        102,  // socketcall
        117,  // ipc
        142,  // _newselect
        145,  // readv
        146,  // writev
        177,  // rt_sigtimedwait
        187,  // sendfile
        239,  // sendfile64
        247,  // io_getevents
        256,  // epoll_wait
        308,  // pselect6
        309,  // ppoll
        313,  // splice
        319,  // epoll_pwait
        337,  // recvmmsg
        345,  // sendmmsg
        362,  // connect
        364,  // accept4
        369,  // sendto
        370,  // sendmsg
        371,  // recvfrom
        372,  // recvmsg
        385,  // io_pgetevents
        413,  // pselect6_time64
        414,  // ppoll_time64
        416,  // io_pgetevents_time64
        417,  // recvmmsg_time64
        420,  // semtimedop_time64
        421,  // rt_sigtimedwait_time64
        426,  // io_uring_enter
        441,  // epoll_pwait2
    };

    /// Registers of the arguments, in the order of syscall(2).
    static constexpr decltype(&user_regs_struct::rdi) argumentRegisters[] = {
        &user_regs_struct::rdi, &user_regs_struct::rsi, &user_regs_struct::rdx,
        &user_regs_struct::r10, &user_regs_struct::r8,  &user_regs_struct::r9};

    /// Selector of 64-bit user code (__USER_CS).
    static constexpr std::uint64_t codeSegment64 = 0x33;
};

/// Thread-local storage segments that 32-bit code sets with set_thread_area(2).
using ThreadSegments = std::array<user_desc, 3>;
/// Index of the first thread-local storage segment in the GDT (GDT_ENTRY_TLS_MIN, arch/x86/include/asm/segment.h).
inline constexpr unsigned firstThreadSegment = 12;
/// True if the selector's segment is in the table that modify_ldt(2) fills.
constexpr bool isOfLocalTable(std::uint64_t selector) noexcept {
    return (selector & 4) != 0;
}

/// Bytes of the instruction that enters the kernel for a system call.
inline constexpr std::array<std::byte, 2> syscallInstructionBytes{std::byte{0x0f}, std::byte{0x05}};
/// Bytes of a system call instruction with a return instruction behind it.
inline constexpr std::array<std::byte, 3> syscallReturnBytes{std::byte{0x0f}, std::byte{0x05}, std::byte{0xc3}};
/// Bytes of code that calls rt_sigreturn(2). C libraries pass such code as the restorer of a signal handler
/// (sigaction(2)).
inline constexpr std::array<std::byte, 9> restorerBytes{std::byte{0x48}, std::byte{0xc7}, std::byte{0xc0},
                                                        std::byte{0x0f}, std::byte{0x00}, std::byte{0x00},
                                                        std::byte{0x00}, std::byte{0x0f}, std::byte{0x05}};
/// True for the 64-bit system call instruction, and for those of 32-bit code: sysenter and int $0x80.
constexpr bool entersKernel(const std::array<std::byte, 2>& instruction) noexcept {
    return instruction == syscallInstructionBytes || instruction == std::array{std::byte{0x0f}, std::byte{0x34}} ||
           instruction == std::array{std::byte{0xcd}, std::byte{0x80}};
}

}  // namespace compel
