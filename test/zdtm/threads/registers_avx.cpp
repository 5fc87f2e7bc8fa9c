// SPDX-License-Identifier: GPL-2.0-only
#include <array>

#include "threads.hpp"
#include "zdtm.hpp"

namespace {
constexpr std::size_t registers = 16;
constexpr std::size_t width = 32;
using Values = std::array<std::byte, registers * width>;

// Loads all registers, spins until the flag is set, and stores them: nothing else keeps the values meanwhile.
void spin(const Values& in, Values& out, const std::atomic<int>& flag) {
    asm volatile(
        ".irp n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n vmovdqu \\n*32(%[in]), %%ymm\\n\n .endr\n"
        "1: pause\n cmpl $0, (%[flag])\n je 1b\n"
        ".irp n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n vmovdqu %%ymm\\n, \\n*32(%[out])\n .endr\n"
        "vzeroupper\n"
        :
        : [in] "r"(in.data()), [out] "r"(out.data()), [flag] "r"(&flag)
        : "memory", "cc", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10",
          "xmm11", "xmm12", "xmm13", "xmm14", "xmm15");
}
}  // namespace

ZDTM("the 16 AVX registers of spinning threads") {
    if (__builtin_cpu_supports("avx") == 0) {
        zdtm::skip("no AVX");
    }
    zdtm::Threads threads(4, [](unsigned index, zdtm::Threads& all) {
        Values in{};
        Values out{};
        zdtm::fill(in, index);
        all.arrive();
        spin(in, out, all.released());
        const ssize_t wrong = zdtm::first_difference(out, index);
        CHECK(wrong < 0, "register %zd changed", wrong / static_cast<ssize_t>(width));
    });
    me.wait_for_check();
    threads.finish();
}
