// SPDX-License-Identifier: GPL-2.0-only
// zdtm: processor x86
#include "vector_registers.hpp"

ZDTM("the 16 SSE registers of spinning threads") {
    zdtm::keep_vector_registers<16, 16>(me, [](const auto& in, auto& out, const std::atomic<int>& flag) {
        ZDTM_SPIN("0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15", "16", "movdqu", "xmm", "", in, out, flag);
    });
}
