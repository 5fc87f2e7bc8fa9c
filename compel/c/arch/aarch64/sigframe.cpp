// SPDX-License-Identifier: LGPL-2.1-only
#include <compel/asm/sigframe.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "compel/c/control.hpp"

extern "C" {

int sigreturn_prep_regs_plain(rt_sigframe* frame, user_regs_struct_t* regs, user_fpregs_struct_t* fpregs) {
    sigcontext* const to = RT_SIGFRAME_SIGCONTEXT(frame);
    memcpy(to->regs, regs->regs, sizeof(to->regs));
    to->sp = regs->sp;
    to->pc = regs->pc;
    to->pstate = regs->pstate;

    aux_context* const records = RT_SIGFRAME_AUX_CONTEXT(frame);
    fpsimd_context& state = records->fpsimd;
    state.head.magic = FPSIMD_MAGIC;
    state.head.size = sizeof(state);
    state.fpsr = fpregs->fpsr;
    state.fpcr = fpregs->fpcr;
    memcpy(state.vregs, fpregs->vregs, sizeof(state.vregs));
    records->end = {};
    return 0;
}

int sigreturn_prep_fpu_frame_plain(rt_sigframe* /*frame*/, rt_sigframe* remote) {
    if (reinterpret_cast<std::uintptr_t>(remote) % 16 != 0) {
        compel_print_on_level(COMPEL_LOG_ERROR, "a signal frame has to lie at a multiple of 16 bytes\n");
        return -1;
    }
    return 0;
}
}
