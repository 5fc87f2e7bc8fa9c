// SPDX-License-Identifier: GPL-2.0-only
#include "criu/pie/enter.hpp"

namespace criu::pie {

void enter(std::uint64_t entry, std::uint64_t program, std::uint64_t stackTop) noexcept {
    register std::uint64_t argument asm("x0") = program;
    // Register x16 may hold the target of a jump to a function under branch target identification.
    register std::uint64_t target asm("x16") = entry;
    asm volatile(
        "mov sp, %1\n\t"
        "mov x29, xzr\n\t"
        "mov x30, xzr\n\t"
        "br %2"
        :
        : "r"(argument), "r"(stackTop & ~std::uint64_t{15}), "r"(target)
        : "memory");
    __builtin_unreachable();
}

}  // namespace criu::pie
