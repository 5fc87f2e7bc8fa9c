/* SPDX-License-Identifier: LGPL-2.1-only */
#ifndef COMPEL_ASM_BREAKPOINTS_H
#define COMPEL_ASM_BREAKPOINTS_H

#include <compel/common/compiler.h>
#include <sys/types.h>

/* si_code of the SIGTRAP of a breakpoint instruction. */
#ifndef ARCH_SI_TRAP
#define ARCH_SI_TRAP TRAP_BRKPT
#endif

COMPEL_BEGIN_C

/* Sets a breakpoint at `addr` and resumes a stopped tracee, which the kernel stops before it executes `addr`. Returns 1
 * when the tracee runs, 0 if the processor has no breakpoints, or a negative number after a failure. */
extern int ptrace_set_breakpoint(pid_t pid, void* addr);
extern int ptrace_flush_breakpoints(pid_t pid);

COMPEL_END_C

#endif
