/* SPDX-License-Identifier: LGPL-2.1-only */
#ifndef COMPEL_ASM_BREAKPOINTS_H
#define COMPEL_ASM_BREAKPOINTS_H

#include <compel/common/compiler.h>
#include <sys/types.h>

/* si_code of the SIGTRAP that a breakpoint instruction makes. */
#define ARCH_SI_TRAP SI_KERNEL

COMPEL_BEGIN_C

/* Runs a stopped tracee until it is about to execute `addr`. 1 when it runs, or negative. */
extern int ptrace_set_breakpoint(pid_t pid, void* addr);
extern int ptrace_flush_breakpoints(pid_t pid);

COMPEL_END_C

#endif
