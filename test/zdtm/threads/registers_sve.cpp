// SPDX-License-Identifier: GPL-2.0-only
// zdtm: processor aarch64
// zdtm: fails-with-4.2 it keeps the part of SVE registers that FP/SIMD registers have
#include <sys/auxv.h>
#include <sys/prctl.h>

#include <algorithm>

#include "vector_registers.hpp"

// The threads use SVE registers outside of system calls, which would clear them: Z0 to Z31, P0 to P15 and FFR.
ZDTM("the SVE registers of spinning threads") {
    constexpr std::size_t kLongest = 256;  // bytes of a vector register; the architecture's limit
    if ((getauxval(AT_HWCAP) & HWCAP_SVE) == 0)
        zdtm::skip("the processor has no SVE");
    // The registers P0 to P15 together are as long as two registers Z.
    zdtm::keep_vector_registers<34, kLongest>(me, [](const auto& in, auto& out, const std::atomic<int>& flag) {
        const auto length = static_cast<std::size_t>(SYS(prctl(PR_SVE_GET_VL)) & PR_SVE_VL_LEN_MASK);
        const std::byte* const more = in.data() + 32 * length;
        std::byte* const moreOut = out.data() + 32 * length;
        std::array<std::byte, kLongest / 8> first{};
        asm volatile(
            ".arch armv8.2-a+sve\n"
            "mov x9, #5\n whilelo p0.b, xzr, x9\n wrffr p0.b\n"
            ".irp n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31\n"
            " ldr z\\n, [%[from], #\\n, mul vl]\n .endr\n"
            ".irp n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n ldr p\\n, [%[more], #\\n, mul vl]\n .endr\n"
            "1: yield\n ldr w9, [%[go]]\n cbz w9, 1b\n"
            ".irp n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31\n"
            " str z\\n, [%[to], #\\n, mul vl]\n .endr\n"
            ".irp n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n str p\\n, [%[moreOut], #\\n, mul vl]\n .endr\n"
            "rdffr p0.b\n str p0, [%[first]]\n"
            :
            : [from] "r"(in.data()), [to] "r"(out.data()), [more] "r"(more), [moreOut] "r"(moreOut), [go] "r"(&flag),
              [first] "r"(first.data())
            : "memory", "cc", "x9", "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11", "v12",
              "v13", "v14", "v15", "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23", "v24", "v25", "v26", "v27",
              "v28", "v29", "v30", "v31");
        std::copy(in.begin() + static_cast<std::ptrdiff_t>(34 * length), in.end(),
                  out.begin() + static_cast<std::ptrdiff_t>(34 * length));
        CHECK(first[0] == std::byte{0x1f} && first[1] == std::byte{0}, "FFR begins with 0x%02x",
              std::to_integer<unsigned>(first[0]));
    });
}
