// SPDX-License-Identifier: GPL-2.0-only
// zdtm: processor x86
#include <array>

#include "threads.hpp"
#include "zdtm.hpp"

namespace {
using Masks = std::array<std::uint64_t, 8>;

void spin(const Masks& in, Masks& out, const std::atomic<int>& flag) {
    asm volatile(
        ".irp n,0,1,2,3,4,5,6,7\n kmovq \\n*8(%[in]), %%k\\n\n .endr\n"
        "1: pause\n cmpl $0, (%[flag])\n je 1b\n"
        ".irp n,0,1,2,3,4,5,6,7\n kmovq %%k\\n, \\n*8(%[out])\n .endr\n"
        :
        : [in] "r"(in.data()), [out] "r"(out.data()), [flag] "r"(&flag)
        : "memory", "cc");
}
}  // namespace

ZDTM("the 8 AVX-512 mask registers of spinning threads") {
    if (__builtin_cpu_supports("avx512bw") == 0) {
        zdtm::skip("no AVX-512");
    }
    zdtm::Threads threads(4, [](unsigned index, zdtm::Threads& all) {
        Masks in{};
        Masks out{};
        zdtm::fill(std::as_writable_bytes(std::span(in)), index);
        all.arrive();
        spin(in, out, all.released());
        CHECK(in == out, "a mask register changed");
    });
    me.wait_for_check();
    threads.finish();
}
