/* SPDX-License-Identifier: LGPL-2.1-only */
/* Signal frame of AArch64, from which sigreturn(2) restores registers, signal mask and floating point registers. */
#ifndef COMPEL_ASM_SIGFRAME_H
#define COMPEL_ASM_SIGFRAME_H

#include <compel/common/compiler.h>
#include <compel/plugins/std/syscall-codes.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/ucontext.h>

/* <signal.h> of C libraries includes the kernel's <asm/sigcontext.h>, which defines struct sigcontext and struct
 * fpsimd_context. */
#define rt_sigcontext sigcontext

typedef struct fpsimd_context fpu_state_t;

/* First records of a frame: the floating point registers, and the end mark. */
struct aux_context {
    struct fpsimd_context fpsimd;
    struct _aarch64_ctx end;
};

/* Offset in the frame of the stack pointer at the sigreturn(2) call. */
#define RT_SIGFRAME_OFFSET(frame) 0

#include <compel/sigframe-common.h>

struct rt_sigframe {
    siginfo_t info;
    ucontext_t uc;
    uint64_t fp;
    uint64_t lr;
};

#define RT_SIGFRAME_UC(frame) (&(frame)->uc)
#define RT_SIGFRAME_SIGCONTEXT(frame) ((struct sigcontext*)&(frame)->uc.uc_mcontext)
#define RT_SIGFRAME_AUX_CONTEXT(frame) ((struct aux_context*)&RT_SIGFRAME_SIGCONTEXT(frame)->__reserved)
#define RT_SIGFRAME_REGIP(frame) ((unsigned long)(frame)->uc.uc_mcontext.pc)
#define RT_SIGFRAME_FPU(frame) (&RT_SIGFRAME_AUX_CONTEXT(frame)->fpsimd)
#define RT_SIGFRAME_HAS_FPU(frame) ((void)(frame), 1)

static inline void rt_sigframe_copy_sigset(struct rt_sigframe* frame, k_rtsigset_t* mask) {
    memcpy(&frame->uc.uc_sigmask, mask, sizeof(*mask));
}

static inline void rt_sigframe_erase_sigset(struct rt_sigframe* frame) {
    memset(&frame->uc.uc_sigmask, 0, sizeof(k_rtsigset_t));
}

#endif
