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

/// Number of the system call poll(2); empty for processors that have only ppoll(2), which needs no restart block.
inline constexpr std::optional<std::int64_t> pollSyscall = SYS_poll;

/// Numbers of old blocking system calls that return EINTR when they are interrupted. Not every processor has these
/// calls.
inline constexpr std::array<std::int64_t, 2> oldWaitingSyscalls{SYS_epoll_wait, SYS_select};

/// Arguments of a system call in the order of its man page; unused arguments are 0.
using SyscallArguments = std::array<std::uint64_t, 6>;

/// General-purpose registers of a stopped thread, as PTRACE_GETREGS shows them.
struct Registers {
    user_regs_struct raw{};

    [[nodiscard]] std::uint64_t ip() const noexcept { return raw.rip; }
    void setIp(std::uint64_t value) noexcept { raw.rip = value; }

    [[nodiscard]] std::uint64_t sp() const noexcept { return raw.rsp; }
    void setSp(std::uint64_t value) noexcept { raw.rsp = value; }

    /// Returns the number of the system call in which the thread is, or from which it returns. Returns a negative
    /// number if an interrupt or a fault has stopped the thread.
    [[nodiscard]] std::int64_t syscallNumber() const noexcept { return static_cast<std::int64_t>(raw.orig_rax); }
    void setSyscallNumber(std::int64_t value) noexcept { raw.orig_rax = static_cast<std::uint64_t>(value); }
    /// True if a stop shows the system call that the stop has ended, and the kernel can still repeat the call.
    static constexpr bool showsEndedCall = true;
    [[nodiscard]] bool inSyscall() const noexcept { return syscallNumber() >= 0; }

    /// Returns an argument of the system call in which the thread is, or which it is about to enter. `index`: 0 to 5.
    [[nodiscard]] std::uint64_t syscallArgument(std::size_t index) const noexcept {
        return raw.*argumentRegisters[index];
    }
    /// Changes an argument of a system call. At the entry of the call, the kernel uses the new value.
    void setSyscallArgument(std::size_t index, std::uint64_t value) noexcept { raw.*argumentRegisters[index] = value; }

    /// Returns the result of the system call: a value, or -errno between -4095 and -1.
    [[nodiscard]] std::int64_t syscallResult() const noexcept { return static_cast<std::int64_t>(raw.rax); }
    void setSyscallResult(std::int64_t value) noexcept { raw.rax = static_cast<std::uint64_t>(value); }

    /// Cancels a system call. The kernel then doesn't restart an interrupted call. If the thread is at the entry of a
    /// call, the kernel skips the call.
    void leaveSyscall() noexcept { raw.orig_rax = ~std::uint64_t{0}; }

    /// Returns true if the kernel will restart the thread's interrupted system call (result -ERESTART*).
    [[nodiscard]] bool restartsSyscall() const noexcept {
        const auto result = syscallResult();
        return inSyscall() && result <= -512 && result >= -516 && result != -515;
    }

    /// Returns true if the thread continues a sleeping call by its restart block.
    [[nodiscard]] bool continuesByBlock() const noexcept {
        constexpr std::int64_t byBlock = -516;  // -ERESTART_RESTARTBLOCK of include/linux/errno.h
        return isNative() && syscallNumber() == SYS_restart_syscall && syscallResult() == byBlock;
    }
    /// Returns the address of the system call instruction that continuesByBlock() is about. It is 0 on processors whose
    /// registers alone tell.
    [[nodiscard]] std::uint64_t continuingInstruction() const noexcept { return 0; }

    /// Returns registers with which the thread repeats its interrupted system call from the start, even if the kernel
    /// would continue the call by the restart block.
    [[nodiscard]] Registers restarted() const noexcept {
        Registers changed = *this;
        if (restartsSyscall()) {
            changed.setSyscallResult(syscallNumber());
            changed.raw.rip -= 2;  // length of the instruction
        }
        changed.leaveSyscall();
        return changed;
    }

    /// Returns registers with which the thread's interrupted system call fails with EINTR.
    [[nodiscard]] Registers interrupted() const noexcept {
        constexpr std::int64_t interruptedError = -4;  // -EINTR
        Registers changed = *this;
        changed.setSyscallResult(interruptedError);
        changed.leaveSyscall();
        return changed;
    }

    /// Number of bytes below the stack pointer that the thread's function may use (red zone).
    static constexpr std::uint64_t belowStack = 128;

    /// Sets the stack pointer to the signal frame at `frame`, so that a return instruction jumps to `restorer`. The
    /// frame has this address.
    void setReturnFrame(std::uint64_t frame, std::uint64_t /*restorer*/) noexcept { raw.rsp = frame; }

    /// Sets the registers as after the return instruction that setReturnFrame() prepares.
    void takeFrame(std::uint64_t frame, std::uint64_t restorer) noexcept {
        leaveSyscall();
        raw.cs = codeSegment64;
        raw.rip = restorer;
        raw.rsp = frame + sizeof(std::uint64_t);
    }
    /// True if rt_sigreturn(2) accepts a signal frame without extended state.
    static constexpr bool hasStatelessFrames = true;

    /// Sets the registers for a system call. `instruction`: address of a system call instruction.
    void setCall(std::int64_t number, const SyscallArguments& arguments, std::uint64_t instruction) noexcept {
        leaveSyscall();
        raw.cs = codeSegment64;
        raw.rip = instruction;
        raw.rax = static_cast<std::uint64_t>(number);
        for (std::size_t index = 0; index < arguments.size(); ++index)
            setSyscallArgument(index, arguments[index]);
    }

    /// Sets the registers for a jump to a blob's entry (blob_start.S). `argument`: argument of blob_entry().
    /// `stackTop`: end of the blob's stack. `endSignal`: signal by which the blob reports its end. `frame`: signal
    /// frame by which the thread continues if the tracer dies; 0 for none.
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

    /// Returns the pid of the process, to which the blob has sent its end signal. Valid in the stop that ends the run.
    [[nodiscard]] std::int32_t blobProcess() const noexcept { return static_cast<std::int32_t>(raw.rdi); }
    /// Returns the result of blob_entry(). Valid in the stop that ends the run (blob_start.S).
    [[nodiscard]] std::int64_t blobResult() const noexcept { return static_cast<std::int64_t>(raw.rbx); }

    /// Returns false for a thread that runs 32-bit code; system calls of 32-bit code have other numbers. setCall() and
    /// setEntry() also work for such a thread, and switch it to 64-bit code.
    [[nodiscard]] bool isNative() const noexcept { return raw.cs == codeSegment64; }

    /// 32-bit numbers of the system calls in the list of compel/src/interrupted_call.cpp
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

    /// Registers that contain the arguments of a system call, in the order of the arguments.
    static constexpr decltype(&user_regs_struct::rdi) argumentRegisters[] = {
        &user_regs_struct::rdi, &user_regs_struct::rsi, &user_regs_struct::rdx,
        &user_regs_struct::r10, &user_regs_struct::r8,  &user_regs_struct::r9};

    /// Selector of 64-bit user code (__USER_CS).
    static constexpr std::uint64_t codeSegment64 = 0x33;
};

/// Segments for thread-local storage, which 32-bit code sets by set_thread_area(2).
using ThreadSegments = std::array<user_desc, 3>;
/// Index of the first thread-local storage segment in the GDT (GDT_ENTRY_TLS_MIN, arch/x86/include/asm/segment.h).
inline constexpr unsigned firstThreadSegment = 12;
/// Returns true if the selector refers to the local descriptor table. modify_ldt(2) fills this table.
constexpr bool isOfLocalTable(std::uint64_t selector) noexcept {
    return (selector & 4) != 0;
}

/// Bytes of the instruction that enters the kernel for a system call.
inline constexpr std::array<std::byte, 2> syscallInstructionBytes{std::byte{0x0f}, std::byte{0x05}};
/// Bytes of a system call instruction followed by a return instruction.
inline constexpr std::array<std::byte, 3> syscallReturnBytes{std::byte{0x0f}, std::byte{0x05}, std::byte{0xc3}};
/// Bytes of code that calls rt_sigreturn(2). A C library passes the address of such code as the restorer of a signal
/// handler (sigaction(2)).
inline constexpr std::array<std::byte, 9> restorerBytes{std::byte{0x48}, std::byte{0xc7}, std::byte{0xc0},
                                                        std::byte{0x0f}, std::byte{0x00}, std::byte{0x00},
                                                        std::byte{0x00}, std::byte{0x0f}, std::byte{0x05}};
/// True if the vDSO may contain syscallReturnBytes and restorerBytes.
inline constexpr bool vdsoHasRestorer = false;

/// Returns true for a system call instruction: syscall of 64-bit code, or sysenter and int $0x80 of 32-bit code.
constexpr bool entersKernel(const std::array<std::byte, 2>& instruction) noexcept {
    return instruction == syscallInstructionBytes || instruction == std::array{std::byte{0x0f}, std::byte{0x34}} ||
           instruction == std::array{std::byte{0xcd}, std::byte{0x80}};
}

}  // namespace compel
