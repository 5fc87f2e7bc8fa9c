/* SPDX-License-Identifier: LGPL-2.1-only */
#ifndef COMPEL_ASM_BREAKPOINTS_H
#define COMPEL_ASM_BREAKPOINTS_H

#include <compel/common/compiler.h>
#include <sys/types.h>

/* si_code of the SIGTRAP of a breakpoint instruction. */
#define ARCH_SI_TRAP SI_KERNEL

COMPEL_BEGIN_C

/* Resumes a stopped tracee until it is about to execute `addr`. Returns 1 once it runs, or a negative number. */
extern int ptrace_set_breakpoint(pid_t pid, void* addr);
extern int ptrace_flush_breakpoints(pid_t pid);

COMPEL_END_C

#endif
