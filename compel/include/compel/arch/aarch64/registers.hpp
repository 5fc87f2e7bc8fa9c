// SPDX-License-Identifier: LGPL-2.1-only
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <vector>

namespace compel {

/// Number of the system call poll(2); empty for processors that have only ppoll(2), which needs no restart block.
inline constexpr std::optional<std::int64_t> pollSyscall = std::nullopt;

/// Numbers of old blocking system calls that return EINTR when they are interrupted. Not every processor has these
/// calls.
inline constexpr std::array<std::int64_t, 0> oldWaitingSyscalls{};

/// Arguments of a system call in the order of its man page; unused arguments are 0.
using SyscallArguments = std::array<std::uint64_t, 6>;

/// Register set NT_PRSTATUS (struct user_pt_regs of the kernel's asm/ptrace.h), followed by the register set
/// NT_ARM_SYSTEM_CALL.
struct GeneralRegisters {
    std::uint64_t x[31];
    std::uint64_t sp;
    std::uint64_t pc;
    std::uint64_t pstate;
    std::int64_t syscall;  ///< number of the system call, or -1 outside of system calls
};

/// General-purpose registers of a stopped thread.
///
/// The kernel rewinds an interrupted system call before it stops the thread in its signal handling (do_signal() of
/// arch/arm64/kernel/signal.c). In such a stop, pc is the address of the system call instruction, x0 is the first
/// argument again, and `syscall` is -1. After a call that ends with EINTR, x0 is -EINTR, and pc is the address after
/// the instruction. Then only /proc/PID/syscall, read before the stop, shows the first argument.
///
/// Only a Syscall stop shows a system call and its result. In a Syscall stop, the kernel uses x7 to tell entry from
/// exit, and discards changes of x7 (report_syscall() of ptrace.c).
struct Registers {
    GeneralRegisters raw{.x = {}, .sp = 0, .pc = 0, .pstate = 0, .syscall = -1};

    [[nodiscard]] std::uint64_t ip() const noexcept { return raw.pc; }
    void setIp(std::uint64_t value) noexcept { raw.pc = value; }

    [[nodiscard]] std::uint64_t sp() const noexcept { return raw.sp; }
    void setSp(std::uint64_t value) noexcept { raw.sp = value; }

    /// Returns the number of the system call in which the thread is, or from which it returns. Returns a negative
    /// number in all other stops.
    [[nodiscard]] std::int64_t syscallNumber() const noexcept { return raw.syscall; }
    /// Changes the number of the call that the thread makes next, or in which it is.
    void setSyscallNumber(std::int64_t value) noexcept {
        raw.x[numberRegister] = static_cast<std::uint64_t>(value);
        if (inSyscall())
            raw.syscall = value;
    }
    /// True if a stop shows the system call that the stop has ended, and the kernel can still repeat the call. Here the
    /// kernel forgets the call before the stop, and x0 has the result in place of the first argument (do_signal()).
    static constexpr bool showsEndedCall = false;
    [[nodiscard]] bool inSyscall() const noexcept { return raw.syscall >= 0; }

    /// Returns an argument of the system call in which the thread is, or which it is about to enter. `index`: 0 to 5.
    [[nodiscard]] std::uint64_t syscallArgument(std::size_t index) const noexcept { return raw.x[index]; }
    /// Changes an argument of a system call. At the entry of the call, the kernel uses the new value.
    void setSyscallArgument(std::size_t index, std::uint64_t value) noexcept { raw.x[index] = value; }

    /// Returns the result of the system call: a value, or -errno between -4095 and -1.
    [[nodiscard]] std::int64_t syscallResult() const noexcept { return static_cast<std::int64_t>(raw.x[0]); }
    void setSyscallResult(std::int64_t value) noexcept { raw.x[0] = static_cast<std::uint64_t>(value); }

    /// Cancels a system call. The kernel then doesn't restart an interrupted call. If the thread is at the entry of a
    /// call, the kernel skips the call.
    void leaveSyscall() noexcept { raw.syscall = -1; }

    /// Returns true if the thread's next instruction may continue a sleeping call by its restart block. The caller must
    /// check that it is a system call instruction.
    [[nodiscard]] bool continuesByBlock() const noexcept {
        constexpr std::uint64_t restartSyscall = 128;
        return !inSyscall() && raw.x[numberRegister] == restartSyscall;
    }
    /// Returns the address of the system call instruction that continuesByBlock() is about. It is 0 on processors whose
    /// registers alone tell.
    [[nodiscard]] std::uint64_t continuingInstruction() const noexcept { return raw.pc; }

    /// Always returns false, because the registers don't show a call that the kernel has rewound.
    [[nodiscard]] static constexpr bool restartsSyscall() noexcept { return false; }
    /// Returns registers with which the thread's interrupted system call fails with EINTR, if they showed such a call.
    [[nodiscard]] Registers interrupted() const noexcept { return restarted(); }

    /// Returns registers with which the thread repeats its interrupted system call from the start. The kernel has
    /// rewound the call already.
    [[nodiscard]] Registers restarted() const noexcept {
        Registers changed = *this;
        changed.leaveSyscall();
        return changed;
    }

    /// Number of bytes below the stack pointer that the thread's function may use (red zone).
    static constexpr std::uint64_t belowStack = 0;

    /// Sets the stack pointer to the signal frame at `frame`, and the return address to `restorer`.
    void setReturnFrame(std::uint64_t frame, std::uint64_t restorer) noexcept {
        raw.sp = frame;
        raw.x[linkRegister] = restorer;
    }

    /// Sets the registers as after the return instruction that setReturnFrame() prepares.
    void takeFrame(std::uint64_t frame, std::uint64_t restorer) noexcept {
        jumpTo(restorer);
        raw.sp = frame;
    }
    /// True if rt_sigreturn(2) accepts a signal frame without extended state.
    static constexpr bool hasStatelessFrames = false;

    /// Sets the registers for a system call. `instruction`: address of a system call instruction.
    void setCall(std::int64_t number, const SyscallArguments& arguments, std::uint64_t instruction) noexcept {
        jumpTo(instruction);
        raw.x[numberRegister] = static_cast<std::uint64_t>(number);
        for (std::size_t index = 0; index < arguments.size(); ++index)
            setSyscallArgument(index, arguments[index]);
    }

    /// Sets the registers for a jump to a blob's entry (blob_start.S). `argument`: argument of blob_entry().
    /// `stackTop`: end of the blob's stack. `endSignal`: signal by which the blob reports its end. `frame`: signal
    /// frame by which the thread continues if the tracer dies; 0 for none.
    void setEntry(std::uint64_t entry, std::uint64_t argument, std::uint64_t stackTop, int endSignal,
                  std::uint64_t frame) noexcept {
        jumpTo(entry);
        raw.sp = stackTop & ~std::uint64_t{15};
        raw.x[0] = argument;
        raw.x[19] = frame;
        raw.x[20] = static_cast<std::uint64_t>(endSignal);
        raw.x[29] = 0;
        raw.x[linkRegister] = 0;
    }

    /// Returns the pid of the process, to which the blob has sent its end signal. Valid in the stop that ends the run.
    [[nodiscard]] std::int32_t blobProcess() const noexcept { return static_cast<std::int32_t>(raw.x[22]); }
    /// Returns the result of blob_entry(). Valid in the stop that ends the run (blob_start.S).
    [[nodiscard]] std::int64_t blobResult() const noexcept { return static_cast<std::int64_t>(raw.x[21]); }

    /// Returns false for a thread that runs 32-bit code (AArch32). Of such a thread, only ip() and sp() are known.
    [[nodiscard]] bool isNative() const noexcept { return (raw.pstate & mode32) == 0; }

    /// Numbers of 32-bit system calls; none, because the tracer can't change the registers of 32-bit code.
    static constexpr std::array<std::int64_t, 0> interruptedCompatCalls{};

    static constexpr std::uint64_t mode32 = 0x10;  ///< PSR_MODE32_BIT of asm/ptrace.h

private:
    static constexpr std::size_t numberRegister = 8;
    static constexpr std::size_t linkRegister = 30;

    /// Clears the branch type, because branch target identification would refuse the instruction at `address`, and the
    /// single-step bit.
    void jumpTo(std::uint64_t address) noexcept {
        constexpr std::uint64_t branchType = 0xc00;
        constexpr std::uint64_t singleStep = std::uint64_t{1} << 21;
        leaveSyscall();
        raw.pc = address;
        raw.pstate &= ~(branchType | singleStep);
    }
};

/// Segments for thread-local storage of 32-bit code; this processor has none.
using ThreadSegments = std::array<std::byte, 0>;

/// Numbers of register sets for PTRACE_GETREGSET: ELF note types of linux/elf.h.
enum RegisterSet : unsigned {
    FloatingPointSet = 2,            // NT_PRFPREG
    ThreadPointerSet = 0x401,        // NT_ARM_TLS: TPIDR_EL0, and TPIDR2_EL0 on processors with SME
    ScalableSet = 0x405,             // NT_ARM_SVE
    AddressKeysSet = 0x407,          // NT_ARM_PACA_KEYS
    GenericKeySet = 0x408,           // NT_ARM_PACG_KEYS
    TaggedAddressSet = 0x409,        // NT_ARM_TAGGED_ADDR_CTRL
    EnabledKeysSet = 0x40a,          // NT_ARM_PAC_ENABLED_KEYS
    StreamingSet = 0x40b,            // NT_ARM_SSVE
    MatrixSet = 0x40c,               // NT_ARM_ZA
    FloatingPointModeSet = 0x40e,    // NT_ARM_FPMR
    PermissionOverlaySet = 0x40f,    // NT_ARM_POE
    GuardedControlStackSet = 0x410,  // NT_ARM_GCS
};

/// Header of the register sets ScalableSet and StreamingSet: struct user_sve_header of asm/ptrace.h.
struct ScalableHeader {
    std::uint32_t size;
    std::uint32_t maximalSize;
    std::uint16_t vectorLength;  ///< in bytes
    std::uint16_t maximalLength;
    std::uint16_t flags;
    std::uint16_t reserved;

    /// Returns true if the set has SVE registers; otherwise it has those of FloatingPointSet.
    [[nodiscard]] bool hasScalable() const noexcept { return (flags & 1) != 0; }
};
static_assert(sizeof(ScalableHeader) == 16);

/// Adds a register set to an extended state (Tracee::extendedState()). The state is a sequence of sets, each after a
/// header of its number and its size.
inline void addRegisterSet(std::vector<std::byte>& state, std::uint32_t number, std::span<const std::byte> content) {
    const std::array<std::uint32_t, 2> head{number, static_cast<std::uint32_t>(content.size())};
    const auto bytes = std::as_bytes(std::span(head));
    state.insert(state.end(), bytes.begin(), bytes.end());
    state.insert(state.end(), content.begin(), content.end());
}

/// Calls `visit(number, content)` for each register set of an extended state. Returns false if the last set is
/// incomplete.
template <typename Visit>
bool visitRegisterSets(std::span<const std::byte> state, const Visit& visit) {
    std::array<std::uint32_t, 2> head{};
    while (state.size() >= sizeof(head)) {
        std::memcpy(head.data(), state.data(), sizeof(head));
        state = state.subspan(sizeof(head));
        if (head[1] > state.size())
            return false;
        visit(head[0], state.first(head[1]));
        state = state.subspan(head[1]);
    }
    return state.empty();
}

/// Returns a register set of an extended state; empty if the state lacks it.
inline std::span<const std::byte> registerSetOf(std::span<const std::byte> state, std::uint32_t wanted) {
    std::span<const std::byte> found;
    visitRegisterSets(state, [&](std::uint32_t number, std::span<const std::byte> content) {
        if (number == wanted)
            found = content;
    });
    return found;
}

/// Bytes of the instruction that enters the kernel for a system call: svc #0.
inline constexpr std::array<std::byte, 4> syscallInstructionBytes{std::byte{0x01}, std::byte{0x00}, std::byte{0x00},
                                                                  std::byte{0xd4}};
/// Bytes of a system call instruction followed by a return instruction.
inline constexpr std::array<std::byte, 8> syscallReturnBytes{std::byte{0x01}, std::byte{0x00}, std::byte{0x00},
                                                             std::byte{0xd4}, std::byte{0xc0}, std::byte{0x03},
                                                             std::byte{0x5f}, std::byte{0xd6}};
/// Bytes of code that calls rt_sigreturn(2): mov x8, #139; svc #0. The kernel's vDSO has it.
inline constexpr std::array<std::byte, 8> restorerBytes{std::byte{0x68}, std::byte{0x11}, std::byte{0x80},
                                                        std::byte{0xd2}, std::byte{0x01}, std::byte{0x00},
                                                        std::byte{0x00}, std::byte{0xd4}};
/// True if the vDSO may contain syscallReturnBytes and restorerBytes. C libraries of this processor have no restorer.
inline constexpr bool vdsoHasRestorer = true;

/// Returns true for a system call instruction.
constexpr bool entersKernel(const std::array<std::byte, 4>& instruction) noexcept {
    return instruction == syscallInstructionBytes;
}

}  // namespace compel
