/* SPDX-License-Identifier: LGPL-2.1-only */
/* Registers of a thread on AArch64. */
#ifndef COMPEL_ASM_INFECT_TYPES_H
#define COMPEL_ASM_INFECT_TYPES_H

#include <asm/ptrace.h>
#include <compel/common/compiler.h>
#include <compel/plugins/std/asm/syscall-types.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>

#define SIGMAX 64
#define SIGMAX_OLD 31

/* Register sets NT_PRSTATUS and NT_PRFPREG. */
typedef struct user_pt_regs user_regs_struct_t;
typedef struct user_fpsimd_state user_fpregs_struct_t;

/* Thread pointer, which a blob doesn't change and the library doesn't read. */
typedef uint64_t tls_t;

#define user_regs_native(regs) ((void)(regs), true)

#define REG_RES(r) ((uint64_t)(r).regs[0])
#define REG_IP(r) ((uint64_t)(r).pc)
#define SET_REG_IP(r, value) ((r).pc = (value))
#define REG_SP(r) ((uint64_t)(r).sp)
#define REG_SYSCALL_NR(r) ((uint64_t)(r).regs[8])

#ifndef ARCH_SI_TRAP
#define ARCH_SI_TRAP TRAP_BRKPT
#endif

#define __NR(name, is_compat) ((void)(is_compat), __NR_##name)

#define __compel_arch_fetch_thread_area(tid, context) ((void)(tid), (void)(context), 0)
#define compel_arch_fetch_thread_area(tctl) ((void)(tctl), 0)
#define compel_arch_get_tls_task(ctl, out) ((void)(ctl), (void)(out))
#define compel_arch_get_tls_thread(tctl, out) ((void)(tctl), (void)(out))

#define compel_shstk_enabled(fpregs) ((void)(fpregs), false)
#define parasite_setup_shstk(ctl, fpregs) ((void)(ctl), (void)(fpregs), 0)

#endif
