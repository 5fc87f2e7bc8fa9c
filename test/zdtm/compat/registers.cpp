// SPDX-License-Identifier: GPL-2.0-only
#include <cstddef>

#include "threads.hpp"
#include "zdtm.hpp"

namespace {
struct State {
    std::uint32_t general[6];  // ebx, ecx, edx, esi, edi, ebp
    double floating;
    std::uint8_t vectors[128];
    const std::atomic<int>* flag;
};
static_assert(offsetof(State, floating) == 24 && offsetof(State, vectors) == 32 && offsetof(State, flag) == 160);
}  // namespace

// Loads all registers, spins until the flag is set, and stores them. The loop has no other copy of the values.
extern "C" void spin_with(State* state);
asm(R"(
        .text
spin_with:
        push %ebp
        push %ebx
        push %esi
        push %edi
        mov 20(%esp), %eax
        push %eax
        fldl 24(%eax)
        .irp n,0,1,2,3,4,5,6,7
        movdqu 32+\n*16(%eax), %xmm\n
        .endr
        mov 0(%eax), %ebx
        mov 4(%eax), %ecx
        mov 8(%eax), %edx
        mov 12(%eax), %esi
        mov 16(%eax), %edi
        mov 20(%eax), %ebp
        mov 160(%eax), %eax
1:      pause
        cmpl $0, (%eax)
        je 1b
        pop %eax
        mov %ebx, 0(%eax)
        mov %ecx, 4(%eax)
        mov %edx, 8(%eax)
        mov %esi, 12(%eax)
        mov %edi, 16(%eax)
        mov %ebp, 20(%eax)
        fstpl 24(%eax)
        .irp n,0,1,2,3,4,5,6,7
        movdqu %xmm\n, 32+\n*16(%eax)
        .endr
        pop %edi
        pop %esi
        pop %ebx
        pop %ebp
        ret
)");

ZDTM("general, x87 and SSE registers of spinning 32-bit threads") {
    zdtm::Threads threads(3, [](unsigned index, zdtm::Threads& all) {
        State state{};
        for (unsigned i = 0; i < 6; ++i) {
            state.general[i] = 0x80000001 * (i + 1) + index;
        }
        state.floating = 1.0 / (3 + index);
        for (unsigned i = 0; i < sizeof(state.vectors); ++i) {
            state.vectors[i] = static_cast<std::uint8_t>(i * 3 + index);
        }
        state.flag = &all.released();
        const State before = state;
        all.arrive();
        spin_with(&state);
        for (unsigned i = 0; i < 6; ++i) {
            CHECK(state.general[i] == before.general[i], "register %u was %#x, is %#x", i, before.general[i],
                  state.general[i]);
        }
        CHECK(state.floating == before.floating, "x87: %g", state.floating);
        CHECK(memcmp(state.vectors, before.vectors, sizeof(state.vectors)) == 0, "a vector register changed");
    });
    me.wait_for_check();
    threads.finish();
}
