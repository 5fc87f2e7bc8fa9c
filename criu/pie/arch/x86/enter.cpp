// SPDX-License-Identifier: GPL-2.0-only
#include "criu/pie/enter.hpp"

namespace criu::pie {

void enter(std::uint64_t entry, std::uint64_t program, std::uint64_t stackTop) noexcept {
    asm volatile(
        "mov %1, %%rsp\n\t"
        "xor %%ebp, %%ebp\n\t"
        "jmp *%2"
        :
        : "D"(program), "S"(stackTop & ~std::uint64_t{15}), "a"(entry)
        : "memory");
    __builtin_unreachable();
}

}  // namespace criu::pie
