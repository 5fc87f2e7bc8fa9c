/* SPDX-License-Identifier: LGPL-2.1-only */
/* Registers of a thread on x86. */
#ifndef COMPEL_ASM_INFECT_TYPES_H
#define COMPEL_ASM_INFECT_TYPES_H

#include <compel/asm/fpu.h>
#include <compel/common/compiler.h>
#include <compel/plugins/std/asm/syscall-types.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#define SIGMAX 64
#define SIGMAX_OLD 31

/* Flag of infect_ctx for kernels before 4.14: the library first reads the floating point registers by PTRACE_GETFPREGS.
 */
#define INFECT_X86_PTRACE_MXCSR_BUG (1ul << 4)

/* Indexes in the GDT of the segments for thread-local storage. */
#define ARCH_HAS_PTRACE_GET_THREAD_AREA
#define GDT_ENTRY_TLS_MIN 12
#define GDT_ENTRY_TLS_MAX 14
#define GDT_ENTRY_TLS_NUM 3

typedef struct {
    user_desc_t desc[GDT_ENTRY_TLS_NUM];
} tls_t;

/* Registers that PTRACE_GETREGSET returns for a thread that runs 64-bit code. */
typedef struct {
    uint64_t r15;
    uint64_t r14;
    uint64_t r13;
    uint64_t r12;
    uint64_t bp;
    uint64_t bx;
    uint64_t r11;
    uint64_t r10;
    uint64_t r9;
    uint64_t r8;
    uint64_t ax;
    uint64_t cx;
    uint64_t dx;
    uint64_t si;
    uint64_t di;
    uint64_t orig_ax;
    uint64_t ip;
    uint64_t cs;
    uint64_t flags;
    uint64_t sp;
    uint64_t ss;
    uint64_t fs_base;
    uint64_t gs_base;
    uint64_t ds;
    uint64_t es;
    uint64_t fs;
    uint64_t gs;
} user_regs_struct64;

/* Registers that PTRACE_GETREGSET returns for a thread that runs 32-bit code. */
typedef struct {
    uint32_t bx;
    uint32_t cx;
    uint32_t dx;
    uint32_t si;
    uint32_t di;
    uint32_t bp;
    uint32_t ax;
    uint32_t ds;
    uint32_t es;
    uint32_t fs;
    uint32_t gs;
    uint32_t orig_ax;
    uint32_t ip;
    uint32_t cs;
    uint32_t flags;
    uint32_t sp;
    uint32_t ss;
} user_regs_struct32;

typedef struct {
    union {
        user_regs_struct64 native;
        user_regs_struct32 compat;
    };
    short __is_native; /* NATIVE_MAGIC or COMPAT_MAGIC */
} user_regs_struct_t;

#define NATIVE_MAGIC 0x0a
#define COMPAT_MAGIC 0x0c

static inline bool user_regs_native(user_regs_struct_t* regs) {
    return regs->__is_native == NATIVE_MAGIC;
}

#define get_user_reg(regs, name) (user_regs_native(regs) ? (regs)->native.name : (regs)->compat.name)
#define set_user_reg(regs, name, value) \
    (user_regs_native(regs) ? ((regs)->native.name = (value)) : ((regs)->compat.name = (value)))

#define REG_RES(regs) get_user_reg(&(regs), ax)
#define REG_IP(regs) get_user_reg(&(regs), ip)
#define SET_REG_IP(regs, value) set_user_reg(&(regs), ip, value)
#define REG_SP(regs) get_user_reg(&(regs), sp)
#define REG_SYSCALL_NR(regs) get_user_reg(&(regs), orig_ax)

typedef struct xsave_struct user_fpregs_struct_t;

#define __NR(name, is_compat) ((is_compat) ? __NR32_##name : __NR_##name)

COMPEL_BEGIN_C

struct thread_ctx;
struct parasite_ctl;
struct parasite_thread_ctl;

/* Reads the segments of a thread into its thread_ctx. */
extern int __compel_arch_fetch_thread_area(int tid, struct thread_ctx* context);
extern int compel_arch_fetch_thread_area(struct parasite_thread_ctl* tctl);
extern void compel_arch_get_tls_thread(struct parasite_thread_ctl* tctl, tls_t* out);
extern void compel_arch_get_tls_task(struct parasite_ctl* ctl, tls_t* out);

/* Returns true if the thread with these extended registers has a shadow stack. */
extern bool __compel_shstk_enabled(user_fpregs_struct_t* fpregs);
#define compel_shstk_enabled __compel_shstk_enabled
/* Prepares the thread's shadow stack for the sigreturn(2) call at the end of a blob. */
extern int __parasite_setup_shstk(struct parasite_ctl* ctl, user_fpregs_struct_t* fpregs);
#define parasite_setup_shstk __parasite_setup_shstk

COMPEL_END_C

#endif
