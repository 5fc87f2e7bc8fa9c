// SPDX-License-Identifier: GPL-2.0-only
// Vector registers of one instruction set.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>

#include "threads.hpp"
#include "zdtm.hpp"

// Loads all registers (`numbers`, separated by commas), spins until the flag is set, and stores them. The loop has no
// other copy of the values. `move` and `name` are the assembler's names of the instruction and of a register. `after`
// contains instructions for the end.
#define ZDTM_SPIN(numbers, width, move, name, after, in, out, flag)                                                \
    asm volatile(".irp n," numbers "\n " move " \\n*" width "(%[from]), %%" name                                   \
                 "\\n\n .endr\n"                                                                                   \
                 "1: pause\n cmpl $0, (%[go])\n je 1b\n"                                                           \
                 ".irp n," numbers "\n " move " %%" name "\\n, \\n*" width "(%[to])\n .endr\n" after               \
                 :                                                                                                 \
                 : [from] "r"((in).data()), [to] "r"((out).data()), [go] "r"(&(flag))                              \
                 : "memory", "cc", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", \
                   "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15")

namespace zdtm {

// Checks the registers of four threads, each with values of its own. `spin(in, out, flag)` keeps `in` in the registers
// until the flag is set, and stores them in `out`.
template <std::size_t Count, std::size_t Width, class Spin>
void keep_vector_registers(Task& me, Spin spin) {
    using Values = std::array<std::byte, Count * Width>;
    Threads threads(4, [&spin](unsigned index, Threads& all) {
        Values in{};
        Values out{};
        fill(in, index);
        all.arrive();
        spin(in, out, all.released());
        const ssize_t wrong = first_difference(out, index);
        CHECK(wrong < 0, "register %zd changed", wrong / static_cast<ssize_t>(Width));
    });
    me.wait_for_check();
    threads.finish();
}

}  // namespace zdtm
