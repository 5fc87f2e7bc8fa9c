// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>

/// System calls of the interpreter that need assembler instructions.
namespace criu::pie::arch {

/// Makes a system call of the kernel's 32-bit interface. 64-bit code of this processor can't, so the result is -ENOSYS.
inline std::int64_t compatCall(std::int64_t /*number*/, const std::uint64_t (&/*args*/)[6]) noexcept {
    constexpr std::int64_t noSystemCall = -38;
    return noSystemCall;
}

/// Creates a thread by clone3(2). The thread calls `entry(argument)` on the stack that `cloneArgs` names. `entry` must
/// not return.
inline std::int64_t cloneThread(const std::uint64_t* cloneArgs, std::uint64_t size, void (*entry)(std::uint64_t),
                                std::uint64_t argument) noexcept {
    register std::int64_t number asm("x8") = 435;  // clone3
    register std::uint64_t result asm("x0") = reinterpret_cast<std::uint64_t>(cloneArgs);
    register std::uint64_t second asm("x1") = size;
    // The new thread inherits all registers, so x19 and x20 pass `entry` and `argument` to it.
    register void (*start)(std::uint64_t) asm("x19") = entry;
    register std::uint64_t value asm("x20") = argument;
    asm volatile(
        "svc #0\n\t"
        "cbnz x0, 1f\n\t"
        "mov x29, xzr\n\t"
        "mov x30, xzr\n\t"
        "mov x0, x20\n\t"
        "blr x19\n\t"
        "udf #0\n"
        "1:"
        : "+r"(result)
        : "r"(number), "r"(second), "r"(start), "r"(value)
        : "memory", "cc");
    return static_cast<std::int64_t>(result);
}

/// Continues with the registers, the extended state and the signal mask of a signal frame, by rt_sigreturn(2).
[[noreturn]] inline void returnByFrame(std::uint64_t frame) noexcept {
    register std::int64_t number asm("x8") = 139;  // rt_sigreturn
    asm volatile(
        "mov sp, %0\n\t"
        "svc #0\n\t"
        "udf #0"
        :
        : "r"(frame), "r"(number)
        : "memory");
    __builtin_unreachable();
}

}  // namespace criu::pie::arch
