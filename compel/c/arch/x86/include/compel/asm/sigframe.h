/* SPDX-License-Identifier: LGPL-2.1-only */
/* Signal frame of x86, from which sigreturn(2) restores registers, signal mask and extended state. */
#ifndef COMPEL_ASM_SIGFRAME_H
#define COMPEL_ASM_SIGFRAME_H

#include <compel/asm/fpu.h>
#include <compel/plugins/std/syscall-codes.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* Offset in the frame of the stack pointer at the sigreturn(2) call: it is behind the return address. */
#define SIGFRAME_MAX_OFFSET 8
#define RT_SIGFRAME_OFFSET(frame) ((frame)->is_native ? 8 : 4)

struct rt_sigcontext {
    uint64_t r8;
    uint64_t r9;
    uint64_t r10;
    uint64_t r11;
    uint64_t r12;
    uint64_t r13;
    uint64_t r14;
    uint64_t r15;
    uint64_t rdi;
    uint64_t rsi;
    uint64_t rbp;
    uint64_t rbx;
    uint64_t rdx;
    uint64_t rax;
    uint64_t rcx;
    uint64_t rsp;
    uint64_t rip;
    uint64_t eflags;
    uint16_t cs;
    uint16_t gs;
    uint16_t fs;
    uint16_t ss;
    uint64_t err;
    uint64_t trapno;
    uint64_t oldmask;
    uint64_t cr2;
    uint64_t fpstate;
    uint64_t reserved1[8];
};

struct rt_sigcontext_32 {
    uint32_t gs;
    uint32_t fs;
    uint32_t es;
    uint32_t ds;
    uint32_t di;
    uint32_t si;
    uint32_t bp;
    uint32_t sp;
    uint32_t bx;
    uint32_t dx;
    uint32_t cx;
    uint32_t ax;
    uint32_t trapno;
    uint32_t err;
    uint32_t ip;
    uint32_t cs;
    uint32_t flags;
    uint32_t sp_at_signal;
    uint32_t ss;
    uint32_t fpstate;
    uint32_t oldmask;
    uint32_t cr2;
};

#include <compel/sigframe-common.h>

typedef uint32_t compat_uptr_t;
typedef uint32_t compat_size_t;
typedef uint32_t compat_sigset_word;

typedef struct compat_siginfo {
    int si_signo;
    int si_errno;
    int si_code;
    int _pad[SI_PAD_SIZE];
} compat_siginfo_t;

typedef struct compat_sigaltstack {
    compat_uptr_t ss_sp;
    int ss_flags;
    compat_size_t ss_size;
} compat_stack_t;

typedef struct {
    compat_sigset_word sig[2];
} compat_sigset_t;

struct ucontext_ia32 {
    unsigned int uc_flags;
    unsigned int uc_link;
    compat_stack_t uc_stack;
    struct rt_sigcontext_32 uc_mcontext;
    compat_sigset_t uc_sigmask;
};

struct rt_sigframe_ia32 {
    uint32_t pretcode;
    int32_t sig;
    uint32_t pinfo;
    uint32_t puc;
    compat_siginfo_t info;
    struct ucontext_ia32 uc;
    char retcode[8];
    fpu_state_t fpu_state;
};

struct rt_sigframe_64 {
    char* pretcode;
    struct rt_ucontext uc;
    struct rt_siginfo info;
    fpu_state_t fpu_state;
};

struct rt_sigframe {
    union {
        struct rt_sigframe_ia32 compat;
        struct rt_sigframe_64 native;
    };
    bool is_native;
};

static inline void rt_sigframe_copy_sigset(struct rt_sigframe* frame, k_rtsigset_t* mask) {
    if (frame->is_native)
        memcpy(&frame->native.uc.uc_sigmask, mask, sizeof(*mask));
    else
        memcpy(&frame->compat.uc.uc_sigmask, mask, sizeof(*mask));
}

static inline void rt_sigframe_erase_sigset(struct rt_sigframe* frame) {
    k_rtsigset_t none = {{0}};
    rt_sigframe_copy_sigset(frame, &none);
}

#define RT_SIGFRAME_REGIP(frame) \
    ((frame)->is_native ? (frame)->native.uc.uc_mcontext.rip : (frame)->compat.uc.uc_mcontext.ip)
#define RT_SIGFRAME_FPU(frame) ((frame)->is_native ? &(frame)->native.fpu_state : &(frame)->compat.fpu_state)
#define RT_SIGFRAME_HAS_FPU(frame) (RT_SIGFRAME_FPU(frame)->has_fpu)

/* Selector of the segment for 32-bit code (__USER32_CS of Linux). */
#define USER32_CS 0x23

#endif
