// SPDX-License-Identifier: GPL-2.0-only
// zdtm: processor x86
#include "vector_registers.hpp"

ZDTM("the 16 AVX registers of spinning threads") {
    if (__builtin_cpu_supports("avx") == 0) {
        zdtm::skip("no AVX");
    }
    zdtm::keep_vector_registers<16, 32>(me, [](const auto& in, auto& out, const std::atomic<int>& flag) {
        ZDTM_SPIN("0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15", "32", "vmovdqu", "ymm", "vzeroupper\n", in, out, flag);
    });
}
