// SPDX-License-Identifier: GPL-2.0-only
// zdtm: processor x86
#include "vector_registers.hpp"

ZDTM("the 32 AVX-512 registers of spinning threads") {
    if (__builtin_cpu_supports("avx512f") == 0) {
        zdtm::skip("no AVX-512");
    }
    zdtm::keep_vector_registers<32, 64>(me, [](const auto& in, auto& out, const std::atomic<int>& flag) {
        ZDTM_SPIN("0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31", "64",
                  "vmovdqu64", "zmm", "vzeroupper\n", in, out, flag);
    });
}
