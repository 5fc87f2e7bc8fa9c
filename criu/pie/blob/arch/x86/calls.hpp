// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>

/// The few instructions the interpreter can't say in C++.
namespace criu::pie::arch {

/// A system call of the 32-bit interface. Its result has 32 bits.
inline std::int64_t compatCall(std::int64_t number, const std::uint64_t (&args)[6]) noexcept {
    std::int64_t result = number;
    asm volatile("int $0x80"
                 : "+a"(result)
                 : "b"(args[0]), "c"(args[1]), "d"(args[2]), "S"(args[3]), "D"(args[4])
                 : "r8", "r9", "r10", "r11", "memory", "cc");
    return static_cast<std::int32_t>(result);
}

/// clone3 of a thread that runs `entry(argument)` on the stack named in the clone arguments and never returns.
inline std::int64_t cloneThread(const std::uint64_t* cloneArgs, std::uint64_t size, void (*entry)(std::uint64_t),
                                std::uint64_t argument) noexcept {
    std::int64_t result = 435;  // clone3
    // Registers survive into the child, so it finds entry and argument where the parent had them.
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

}  // namespace criu::pie::arch
