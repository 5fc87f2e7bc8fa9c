// SPDX-License-Identifier: LGPL-2.1-only
#include <asm/ldt.h>
#include <compel/asm/processor-flags.h>
#include <compel/cpu.h>
#include <compel/plugins/std/syscall-codes.h>
#include <compel/ptrace.h>
#include <elf.h>
#include <sys/uio.h>
#include <sys/user.h>

#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "compel/c/control.hpp"

using namespace compel::c;

namespace {

// Results of an interrupted system call that the kernel will restart. The kernel shows these results only to tracers.
constexpr long restartSys = -512;
constexpr long restartNoIntr = -513;
constexpr long restartNoHand = -514;
constexpr long restartBlock = -516;

constexpr unsigned shadowStackNote = 0x204;  // NT_X86_SHSTK
constexpr int shadowStackStatus = 0x5005;    // ARCH_SHSTK_STATUS
constexpr unsigned long shadowStackOn = 1;   // ARCH_SHSTK_SHSTK
constexpr int archPrctlRequest = 30;         // PTRACE_ARCH_PRCTL
// All bits of MXCSR except denormals-are-zero, because some processors don't have this bit.
constexpr std::uint32_t safeMxcsr = 0x0000ffbf;
constexpr std::uint64_t noiseComponents = 0xe7;  // components of the extended state that accept any content
constexpr unsigned long codeSegment = 0x33;

constexpr int syscallInstructionSize = 2;

void setResult(user_regs_struct_t* regs, long value) {
    if (user_regs_native(regs))
        regs->native.ax = static_cast<std::uint64_t>(value);
    else
        regs->compat.ax = static_cast<std::uint32_t>(value);
}

/// Changes the registers of a thread so that it repeats its interrupted system call. Needed because the kernel doesn't
/// restart the call itself after other code has run in the thread.
void restartCall(pid_t pid, user_regs_struct_t* regs) {
    const bool native = user_regs_native(regs);
    const long number = native ? static_cast<long>(regs->native.orig_ax) : static_cast<int>(regs->compat.orig_ax);
    const long result = native ? static_cast<long>(regs->native.ax) : static_cast<int>(regs->compat.ax);
    if (number < 0)
        return;
    if (result == restartSys || result == restartNoIntr || result == restartNoHand) {
        setResult(regs, number);
        setIp(regs, REG_IP(*regs) - syscallInstructionSize);
    } else if (result == restartBlock) {
        compel_print_on_level(COMPEL_LOG_WARN, "thread %d: its system call %ld ends with EINTR\n", pid, number);
        setResult(regs, -EINTR);
    }
}

int registerSet(pid_t pid, long request, unsigned note, void* state, size_t size) {
    iovec part = {state, size};
    return ptrace(static_cast<__ptrace_request>(request), pid, note, &part) == 0 ? 0 : -1;
}

int fetchShadowStack(pid_t pid, user_fpregs_struct_t* state) {
    memset(&state->cet, 0, sizeof(state->cet));
    unsigned long features = 0;
    // Does nothing on kernels and processors without shadow stacks, because they don't have this ptrace request.
    if (!compel_cpu_has_feature(X86_FEATURE_SHSTK) ||
        ptrace(static_cast<__ptrace_request>(archPrctlRequest), pid, &features, shadowStackStatus) != 0 ||
        (features & shadowStackOn) == 0)
        return 0;
    if (registerSet(pid, PTRACE_GETREGSET, shadowStackNote, &state->cet.ssp, sizeof(state->cet.ssp)) != 0)
        return failErrno(pid, "ask for its shadow stack");
    state->cet.cet = features;
    return 0;
}

int fetchExtended(pid_t pid, user_fpregs_struct_t* state, unsigned long flags) {
    memset(static_cast<void*>(state), 0, sizeof(*state));
    const bool legacy = !compel_cpu_has_feature(X86_FEATURE_OSXSAVE);
    if ((legacy || (flags & INFECT_X86_PTRACE_MXCSR_BUG) != 0) && ptrace(PTRACE_GETFPREGS, pid, nullptr, state) != 0)
        return failErrno(pid, "ask for its floating point registers");
    if (legacy)
        return 0;
    if (registerSet(pid, PTRACE_GETREGSET, NT_X86_XSTATE, state, sizeof(*state)) != 0)
        return failErrno(pid, "ask for its extended registers");
    // Fills in components that XSAVE omits because they are in their initial state: sigreturn(2) needs them.
    if ((state->xsave_hdr.xstate_bv & XFEATURE_MASK_FPSSE) != XFEATURE_MASK_FPSSE &&
        ptrace(PTRACE_GETFPREGS, pid, nullptr, state) != 0)
        return failErrno(pid, "ask for its floating point registers");
    return fetchShadowStack(pid, state);
}

/// Fills the extended registers of a thread with noise. A test thereby detects whether the library restores registers.
int fillWithNoise(pid_t pid) {
    auto* const state =
        static_cast<user_fpregs_struct_t*>(aligned_alloc(alignof(user_fpregs_struct_t), sizeof(user_fpregs_struct_t)));
    if (state == nullptr)
        return fail(pid, "no memory for noise");
    auto seed = static_cast<unsigned>(time(nullptr));
    compel_print_on_level(COMPEL_LOG_ERROR, "thread %d: its extended registers get noise, seed %u\n", pid, seed);
    for (size_t at = 0; at < sizeof(*state); at += sizeof(int)) {
        const int noise = rand_r(&seed);
        memcpy(reinterpret_cast<char*>(state) + at, &noise, sizeof(noise));
    }
    state->i387.mxcsr &= safeMxcsr;
    std::uint64_t components = state->xsave_hdr.xstate_bv & noiseComponents;
    for (unsigned feature = 0; feature < XFEATURE_MAX; ++feature)
        if (!compel_fpu_has_feature(feature))
            components &= ~(std::uint64_t{1} << feature);
    state->xsave_hdr = {};
    state->xsave_hdr.xstate_bv = components;
    const int result = compel_set_task_ext_regs(pid, state);
    free(state);
    return result;
}

}  // namespace

namespace compel::c {

void setIp(user_regs_struct_t* regs, std::uint64_t ip) {
    if (user_regs_native(regs))
        regs->native.ip = ip;
    else
        regs->compat.ip = static_cast<std::uint32_t>(ip);
}

}  // namespace compel::c

extern "C" {

// Instructions for compel_execute_syscall(): the system call instructions of 64-bit and 32-bit code, each followed by
// breakpoint instructions.
extern const char code_syscall[8] = {0x0f, 0x05, -0x34, -0x34, -0x34, -0x34, -0x34, -0x34};
extern const char code_int_80[8] = {-0x33, -0x80, -0x34, -0x34, -0x34, -0x34, -0x34, -0x34};

int ptrace_get_regs(int pid, user_regs_struct_t* regs) {
    iovec part = {&regs->native, sizeof(regs->native)};
    if (ptrace(PTRACE_GETREGSET, pid, NT_PRSTATUS, &part) != 0)
        return failErrno(pid, "ask for its registers");
    if (part.iov_len != sizeof(regs->native) && part.iov_len != sizeof(regs->compat))
        return fail(pid, "its registers have an unknown form");
    regs->__is_native = part.iov_len == sizeof(regs->native) ? NATIVE_MAGIC : COMPAT_MAGIC;
    return 0;
}

int ptrace_set_regs(int pid, user_regs_struct_t* regs) {
    const bool native = user_regs_native(regs);
    return registerSet(pid, PTRACE_SETREGSET, NT_PRSTATUS, &regs->native,
                       native ? sizeof(regs->native) : sizeof(regs->compat));
}

void parasite_setup_regs(unsigned long ip, void* stack, user_regs_struct_t* regs) {
    constexpr unsigned cleared = X86_EFLAGS_TF | X86_EFLAGS_DF | X86_EFLAGS_IF;
    setIp(regs, ip);
    // Clears the number of the system call. Otherwise the kernel would restart the call.
    if (user_regs_native(regs)) {
        regs->native.orig_ax = ~std::uint64_t{0};
        regs->native.flags &= ~std::uint64_t{cleared};
        if (stack != nullptr)
            regs->native.sp = reinterpret_cast<std::uint64_t>(stack);
    } else {
        regs->compat.orig_ax = ~std::uint32_t{0};
        regs->compat.flags &= ~cleared;
        if (stack != nullptr)
            regs->compat.sp = static_cast<std::uint32_t>(reinterpret_cast<std::uint64_t>(stack));
    }
}

int compel_get_task_regs(pid_t pid, user_regs_struct_t* regs, user_fpregs_struct_t* fpregs, save_regs_t save, void* arg,
                         unsigned long flags) {
    restartCall(pid, regs);
    if (compel_cpu_has_feature(X86_FEATURE_FPU)) {
        if (fetchExtended(pid, fpregs, flags) != 0)
            return -1;
        if ((flags & INFECT_CORRUPT_EXTREGS) != 0 && fillWithNoise(pid) != 0)
            return -1;
    }
    return save(pid, arg, regs, fpregs);
}

int compel_set_task_ext_regs(pid_t pid, user_fpregs_struct_t* fpregs) {
    const int result = compel_cpu_has_feature(X86_FEATURE_OSXSAVE)
                           ? registerSet(pid, PTRACE_SETREGSET, NT_X86_XSTATE, fpregs, sizeof(*fpregs))
                           : static_cast<int>(ptrace(PTRACE_SETFPREGS, pid, nullptr, fpregs));
    return result == 0 ? 0 : failErrno(pid, "set its extended registers");
}

int compel_syscall(parasite_ctl* ctl, int nr, long* ret, unsigned long arg1, unsigned long arg2, unsigned long arg3,
                   unsigned long arg4, unsigned long arg5, unsigned long arg6) {
    user_regs_struct_t regs = ctl->orig.regs;
    if (!user_regs_native(&regs))
        return fail(ctl->rpid, "it runs 32-bit code");
    regs.native.ax = static_cast<std::uint64_t>(nr);
    regs.native.di = arg1;
    regs.native.si = arg2;
    regs.native.dx = arg3;
    regs.native.r10 = arg4;
    regs.native.r8 = arg5;
    regs.native.r9 = arg6;
    const int result = compel_execute_syscall(ctl, &regs, code_syscall);
    *ret = static_cast<long>(regs.native.ax);
    return result;
}

bool arch_can_dump_task(parasite_ctl* ctl) {
    user_regs_struct_t regs;
    if (ptrace_get_regs(ctl->rpid, &regs) != 0)
        return false;
    if (!user_regs_native(&regs))
        fail(ctl->rpid, "it runs 32-bit code, which isn't supported");
    else if (regs.native.cs != codeSegment)
        fail(ctl->rpid, "its code segment is one of its own, which isn't supported");
    else
        return true;
    return false;
}

int arch_fetch_sas(parasite_ctl* ctl, rt_sigframe* frame) {
    long result;
    const auto place = reinterpret_cast<unsigned long>(frame) + offsetof(rt_sigframe, native.uc.uc_stack);
    const int failed = compel_syscall(ctl, __NR_sigaltstack, &result, 0, place, 0, 0, 0, 0);
    return failed != 0 ? failed : static_cast<int>(result);
}

int ptrace_set_breakpoint(pid_t pid, void* addr) {
    // Puts the address into debug register 0. Bit 0 of debug register 7 enables it for this task.
    if (ptrace(PTRACE_POKEUSER, pid, offsetof(user, u_debugreg[0]), addr) != 0 ||
        ptrace(PTRACE_POKEUSER, pid, offsetof(user, u_debugreg[7]), 1) != 0)
        return failErrno(pid, "set a breakpoint");
    k_rtsigset_t blocked = blockedSignals(false);
    if (ptrace(PTRACE_SETSIGMASK, pid, sizeof(blocked), &blocked) != 0)
        return failErrno(pid, "block its signals");
    return ptrace(PTRACE_CONT, pid, nullptr, nullptr) == 0 ? 1 : failErrno(pid, "run it to a breakpoint");
}

int ptrace_flush_breakpoints(pid_t pid) {
    if (ptrace(PTRACE_POKEUSER, pid, offsetof(user, u_debugreg[7]), 0) != 0)
        return failErrno(pid, "take its breakpoint away");
    return 0;
}

unsigned long compel_task_size() {
    constexpr unsigned long page = 4096;
    return (1ul << 47) - page;
}

int __compel_arch_fetch_thread_area(int tid, thread_ctx* context) {
    for (unsigned index = 0; index < GDT_ENTRY_TLS_NUM; ++index) {
        user_desc_t& segment = context->tls.desc[index];
        segment = {};
        segment.entry_number = GDT_ENTRY_TLS_MIN + index;
        segment.seg_not_present = 1;
        if (ptrace(PTRACE_GET_THREAD_AREA, tid, GDT_ENTRY_TLS_MIN + index, &segment) == 0)
            continue;
        // EIO: a kernel that doesn't run 32-bit code has no such segments.
        if (errno == EIO && user_regs_native(&context->regs))
            return 0;
        return failErrno(tid, "ask for its segments");
    }
    return 0;
}

int compel_arch_fetch_thread_area(parasite_thread_ctl* tctl) {
    return __compel_arch_fetch_thread_area(tctl->tid, &tctl->th);
}

void compel_arch_get_tls_task(parasite_ctl* ctl, tls_t* out) {
    *out = ctl->orig.tls;
}

void compel_arch_get_tls_thread(parasite_thread_ctl* tctl, tls_t* out) {
    *out = tctl->th.tls;
}

bool __compel_shstk_enabled(user_fpregs_struct_t* fpregs) {
    return compel_cpu_has_feature(X86_FEATURE_SHSTK) && (fpregs->cet.cet & shadowStackOn) != 0;
}

int __parasite_setup_shstk(parasite_ctl* ctl, user_fpregs_struct_t* fpregs) {
    if (!__compel_shstk_enabled(fpregs))
        return 0;
    // sigreturn(2) reads the old shadow stack pointer from a token on the shadow stack: the pointer with bit 63 set.
    // The return address of the signal handler is below the token.
    const std::uint64_t top = fpregs->cet.ssp & ~std::uint64_t{7};
    std::uint64_t pointer = top - 8;
    if (ptrace(PTRACE_POKEDATA, ctl->rpid, pointer, top | 1ull << 63) != 0 ||
        ptrace(PTRACE_POKEDATA, ctl->rpid, pointer - 8, ctl->parasite_ip) != 0 ||
        registerSet(ctl->rpid, PTRACE_SETREGSET, shadowStackNote, &pointer, sizeof(pointer)) != 0)
        return failErrno(ctl->rpid, "prepare its shadow stack");
    return 0;
}
}
