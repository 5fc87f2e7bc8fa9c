/* SPDX-License-Identifier: LGPL-2.1-only */
/* Types of the kernel's system calls that C libraries lack or define differently. */
#ifndef COMPEL_PLUGINS_STD_ASM_SYSCALL_TYPES_H
#define COMPEL_PLUGINS_STD_ASM_SYSCALL_TYPES_H

#include <signal.h>
#include <stdint.h>

typedef void rt_signalfn_t(int, siginfo_t*, void*);
typedef rt_signalfn_t* rt_sighandler_t;
typedef void rt_restorefn_t(void);
typedef rt_restorefn_t* rt_sigrestore_t;

#ifndef SA_RESTORER
#define SA_RESTORER 0x04000000
#endif

#define _KNSIG 64
#ifndef _NSIG_BPW
#define _NSIG_BPW 64
#endif
#define _KNSIG_WORDS (_KNSIG / _NSIG_BPW)

typedef struct {
    uint64_t sig[_KNSIG_WORDS];
} k_rtsigset_t;

typedef struct {
    rt_sighandler_t rt_sa_handler;
    unsigned long rt_sa_flags;
    rt_sigrestore_t rt_sa_restorer;
    k_rtsigset_t rt_sa_mask;
} rt_sigaction_t;

#endif
