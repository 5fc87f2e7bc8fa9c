/* SPDX-License-Identifier: LGPL-2.1-only */
/* Parts of a signal frame that are equal for all processors. Programs must include <compel/asm/sigframe.h>, not this
 * header. */
#ifndef COMPEL_SIGFRAME_COMMON_H
#define COMPEL_SIGFRAME_COMMON_H

#ifndef COMPEL_ASM_SIGFRAME_H
#error "include <compel/asm/sigframe.h> instead"
#endif

#include <compel/common/compiler.h>
#include <compel/plugins/std/asm/syscall-types.h>
#include <stddef.h>

struct rt_sigframe;

#ifndef SIGFRAME_MAX_OFFSET
#define SIGFRAME_MAX_OFFSET RT_SIGFRAME_OFFSET(0)
#endif

#define RESTORE_STACK_ALIGN(size, step) (((size) + (step)-1) & ~((step)-1))
/* Number of bytes that a signal frame needs on a stack. */
#define RESTORE_STACK_SIGFRAME RESTORE_STACK_ALIGN(sizeof(struct rt_sigframe) + SIGFRAME_MAX_OFFSET, 64)

#define SI_MAX_SIZE 128
#ifndef SI_PAD_SIZE
#define SI_PAD_SIZE ((SI_MAX_SIZE - 3 * sizeof(int)) / sizeof(int))
#endif

typedef struct rt_siginfo {
    int si_signo;
    int si_errno;
    int si_code;
    int _pad[SI_PAD_SIZE];
} rt_siginfo_t;

typedef struct rt_sigaltstack {
    void* ss_sp;
    int ss_flags;
    size_t ss_size;
} rt_stack_t;

struct rt_ucontext {
    unsigned long uc_flags;
    struct rt_ucontext* uc_link;
    rt_stack_t uc_stack;
    struct rt_sigcontext uc_mcontext;
    k_rtsigset_t uc_sigmask;
    int _unused[32 - sizeof(k_rtsigset_t) / sizeof(int)];
    unsigned long uc_regspace[128] __aligned(8);
};

#endif
