// SPDX-License-Identifier: GPL-2.0-only
// zdtm: processor aarch64
#include "vector_registers.hpp"

ZDTM("the 32 vector registers, rounding mode and exceptions of spinning threads") {
    zdtm::keep_vector_registers<32, 16>(me, [](const auto& in, auto& out, const std::atomic<int>& flag) {
        constexpr std::uint64_t kControl = 0xc00000;  // RMode of FPCR: towards zero
        constexpr std::uint64_t kStatus = 0x8000001;  // QC and IOC of FPSR
        std::uint64_t control = kControl;
        std::uint64_t status = kStatus;
        asm volatile(
            "msr fpcr, %[control]\n msr fpsr, %[status]\n"
            ".irp n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31\n"
            " ldr q\\n, [%[from], #16*\\n]\n .endr\n"
            "1: yield\n ldr w9, [%[go]]\n cbz w9, 1b\n"
            ".irp n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31\n"
            " str q\\n, [%[to], #16*\\n]\n .endr\n"
            "mrs %[control], fpcr\n mrs %[status], fpsr\n msr fpcr, xzr\n msr fpsr, xzr\n"
            : [control] "+r"(control), [status] "+r"(status)
            : [from] "r"(in.data()), [to] "r"(out.data()), [go] "r"(&flag)
            : "memory", "x9", "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11", "v12", "v13",
              "v14", "v15", "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23", "v24", "v25", "v26", "v27", "v28",
              "v29", "v30", "v31");
        CHECK(control == kControl && status == kStatus, "FPCR 0x%lx, FPSR 0x%lx", control, status);
    });
}
