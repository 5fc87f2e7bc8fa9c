/* SPDX-License-Identifier: LGPL-2.1-only */
/* Operations that need several ptrace(2) calls, and constants that older C libraries lack. */
#ifndef COMPEL_PTRACE_H
#define COMPEL_PTRACE_H

#include <compel/asm/breakpoints.h>
#include <compel/common/compiler.h>
#include <stdint.h>
#include <sys/ptrace.h>
#include <sys/types.h>

#ifndef PTRACE_EVENT_STOP
#define PTRACE_EVENT_STOP 128
#endif
#ifndef PTRACE_O_SUSPEND_SECCOMP
#define PTRACE_O_SUSPEND_SECCOMP (1 << 21)
#endif
#ifndef PTRACE_SECCOMP_GET_FILTER
#define PTRACE_SECCOMP_GET_FILTER 0x420c
#endif
#ifndef PTRACE_SECCOMP_GET_METADATA
#define PTRACE_SECCOMP_GET_METADATA 0x420d
#endif
#ifndef PTRACE_GET_RSEQ_CONFIGURATION
#define PTRACE_GET_RSEQ_CONFIGURATION 0x420f
struct __ptrace_rseq_configuration {
    uint64_t rseq_abi_pointer;
    uint32_t rseq_abi_size;
    uint32_t signature;
    uint32_t flags;
    uint32_t pad;
};
#endif

/* Argument of PTRACE_SECCOMP_GET_METADATA. */
typedef struct {
    uint64_t filter_off; /* index of the filter */
    uint64_t flags;      /* flags of the filter, which the kernel stores */
} seccomp_metadata_t;

COMPEL_BEGIN_C

/* Suspends the seccomp filters of a stopped tracee, and marks its system call stops (PTRACE_O_TRACESYSGOOD). Returns 0,
 * or -1 after a failure. */
extern int ptrace_suspend_seccomp(pid_t pid);
/*
 * Copies memory of a stopped tracee to `into`. ptrace_poke_area() copies memory to the tracee. ptrace_swap_area()
 * exchanges the contents of `ours` and of the tracee's memory; after a failure, it has changed nothing in the tracee.
 * All return 0, -1 if `bytes` isn't a multiple of 8, or -errno.
 */
extern int __must_check ptrace_peek_area(pid_t pid, void* into, void* address, long bytes);
extern int __must_check ptrace_poke_area(pid_t pid, void* from, void* address, long bytes);
extern int __must_check ptrace_swap_area(pid_t pid, void* address, void* ours, long bytes);

COMPEL_END_C

#endif
