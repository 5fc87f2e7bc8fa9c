// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>

/// System calls of the interpreter that need assembler instructions.
namespace criu::pie::arch {

/// Makes a system call of the kernel's 32-bit interface. The result has 32 bits.
inline std::int64_t compatCall(std::int64_t number, const std::uint64_t (&args)[6]) noexcept {
    std::int64_t result = number;
    asm volatile("int $0x80"
                 : "+a"(result)
                 : "b"(args[0]), "c"(args[1]), "d"(args[2]), "S"(args[3]), "D"(args[4])
                 : "r8", "r9", "r10", "r11", "memory", "cc");
    return static_cast<std::int32_t>(result);
}

/// Creates a thread by clone3(2). The thread calls `entry(argument)` on the stack that `cloneArgs` names. `entry` must
/// not return.
inline std::int64_t cloneThread(const std::uint64_t* cloneArgs, std::uint64_t size, void (*entry)(std::uint64_t),
                                std::uint64_t argument) noexcept {
    std::int64_t result = 435;  // clone3
    // The new thread inherits all registers, so r12 and r13 pass `entry` and `argument` to it.
    register void (*start)(std::uint64_t) asm("r12") = entry;
    register std::uint64_t value asm("r13") = argument;
    asm volatile(
        "syscall\n\t"
        "test %%rax, %%rax\n\t"
        "jnz 1f\n\t"
        "xor %%ebp, %%ebp\n\t"
        "mov %%r13, %%rdi\n\t"
        "call *%%r12\n\t"
        "ud2\n"
        "1:"
        : "+a"(result)
        : "D"(cloneArgs), "S"(size), "r"(start), "r"(value)
        : "rcx", "r11", "memory");
    return result;
}

/// Continues with the registers, the extended state and the signal mask of a signal frame, by rt_sigreturn(2).
[[noreturn]] inline void returnByFrame(std::uint64_t frame) noexcept {
    // The kernel expects the frame 8 bytes below the stack pointer, because a handler has returned by then.
    asm volatile(
        "mov %0, %%rsp\n\t"
        "mov $15, %%eax\n\t"
        "syscall\n\t"
        "ud2"
        :
        : "r"(frame + 8)
        : "memory");
    __builtin_unreachable();
}

}  // namespace criu::pie::arch
