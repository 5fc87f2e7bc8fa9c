// SPDX-License-Identifier: LGPL-2.1-only
#include <compel/plugins/std/syscall-codes.h>
#include <compel/ptrace.h>
#include <elf.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <initializer_list>

#include "compel/asm/sigframe.h"
#include "compel/c/control.hpp"

using namespace compel::c;

namespace {

constexpr unsigned long breakpointNote = 0x402;  // NT_ARM_HW_BREAK

int registerSet(pid_t pid, long request, unsigned long note, void* state, size_t size) {
    iovec part = {state, size};
    return ptrace(static_cast<__ptrace_request>(request), pid, note, &part) == 0 ? 0 : -1;
}

/// Fills the floating point registers of a thread with noise. A test thereby detects whether the library restores
/// registers.
int fillWithNoise(pid_t pid) {
    user_fpregs_struct_t state = {};
    auto seed = static_cast<unsigned>(time(nullptr));
    compel_print_on_level(COMPEL_LOG_ERROR, "thread %d: its floating point registers get noise, seed %u\n", pid, seed);
    for (size_t at = 0; at < sizeof(state.vregs); at += sizeof(int)) {
        const int noise = rand_r(&seed);
        memcpy(reinterpret_cast<char*>(state.vregs) + at, &noise, sizeof(noise));
    }
    return compel_set_task_ext_regs(pid, &state);
}

/// Register set of hardware breakpoints, with the first breakpoint only (struct user_hwdebug_state of asm/ptrace.h).
struct FirstBreakpoint {
    std::uint32_t info;
    std::uint32_t padding;
    std::uint64_t address;
    std::uint32_t control;
    std::uint32_t paddingOfControl;
};

int setBreakpoint(pid_t pid, std::uint64_t address, std::uint32_t control) {
    FirstBreakpoint breakpoint = {0, 0, address, control, 0};
    return registerSet(pid, PTRACE_SETREGSET, breakpointNote, &breakpoint, sizeof(breakpoint));
}

}  // namespace

namespace compel::c {

void setIp(user_regs_struct_t* regs, std::uint64_t ip) {
    regs->pc = ip;
}

}  // namespace compel::c

extern "C" {

// Instructions for compel_execute_syscall(): svc #0, brk #0.
extern const char code_syscall[8] = {0x01, 0x00, 0x00, 0xd4, 0x00, 0x00, 0x20, 0xd4};

int ptrace_get_regs(int pid, user_regs_struct_t* regs) {
    iovec part = {regs, sizeof(*regs)};
    if (ptrace(PTRACE_GETREGSET, pid, NT_PRSTATUS, &part) != 0)
        return failErrno(pid, "ask for its registers");
    return part.iov_len == sizeof(*regs) ? 0 : fail(pid, "it runs 32-bit code, which isn't supported");
}

int ptrace_set_regs(int pid, user_regs_struct_t* regs) {
    return registerSet(pid, PTRACE_SETREGSET, NT_PRSTATUS, regs, sizeof(*regs));
}

void parasite_setup_regs(unsigned long ip, void* stack, user_regs_struct_t* regs) {
    // Clears the branch type, because branch target identification would refuse the instruction, and the single-step
    // bit.
    constexpr std::uint64_t cleared = 0xc00 | 1ull << 21;
    regs->pc = ip;
    regs->pstate &= ~cleared;
    if (stack != nullptr)
        regs->sp = reinterpret_cast<std::uint64_t>(stack);
}

int compel_get_task_regs(pid_t pid, user_regs_struct_t* regs, user_fpregs_struct_t* fpregs, save_regs_t save, void* arg,
                         unsigned long flags) {
    // The kernel has already rewound an interrupted system call (do_signal() of arch/arm64/kernel/signal.c).
    if (registerSet(pid, PTRACE_GETREGSET, NT_PRFPREG, fpregs, sizeof(*fpregs)) != 0)
        return failErrno(pid, "ask for its floating point registers");
    if ((flags & INFECT_CORRUPT_EXTREGS) != 0 && fillWithNoise(pid) != 0)
        return -1;
    return save(pid, arg, regs, fpregs);
}

int compel_set_task_ext_regs(pid_t pid, user_fpregs_struct_t* fpregs) {
    return registerSet(pid, PTRACE_SETREGSET, NT_PRFPREG, fpregs, sizeof(*fpregs)) == 0
               ? 0
               : failErrno(pid, "set its floating point registers");
}

int compel_syscall(parasite_ctl* ctl, int nr, long* ret, unsigned long arg1, unsigned long arg2, unsigned long arg3,
                   unsigned long arg4, unsigned long arg5, unsigned long arg6) {
    user_regs_struct_t regs = ctl->orig.regs;
    const unsigned long arguments[] = {arg1, arg2, arg3, arg4, arg5, arg6};
    memcpy(regs.regs, arguments, sizeof(arguments));
    regs.regs[8] = static_cast<std::uint64_t>(nr);
    const int result = compel_execute_syscall(ctl, &regs, code_syscall);
    *ret = static_cast<long>(regs.regs[0]);
    return result;
}

bool arch_can_dump_task(parasite_ctl* ctl) {
    user_regs_struct_t regs;
    return ptrace_get_regs(ctl->rpid, &regs) == 0;
}

int arch_fetch_sas(parasite_ctl* ctl, rt_sigframe* frame) {
    long result;
    const auto place = reinterpret_cast<unsigned long>(frame) + offsetof(rt_sigframe, uc.uc_stack);
    const int failed = compel_syscall(ctl, __NR_sigaltstack, &result, 0, place, 0, 0, 0, 0);
    return failed != 0 ? failed : static_cast<int>(result);
}

int ptrace_set_breakpoint(pid_t pid, void* addr) {
    std::uint32_t info = 0;
    if (registerSet(pid, PTRACE_GETREGSET, breakpointNote, &info, sizeof(info)) != 0 || (info & 0xff) == 0)
        return 0;
    // Four bytes, of code that runs without privileges, enabled (DBGBCR_EL1 of the architecture).
    constexpr std::uint32_t execute = 0xf << 5 | 2 << 1 | 1;
    if (setBreakpoint(pid, reinterpret_cast<std::uint64_t>(addr), execute) != 0)
        return failErrno(pid, "set a breakpoint");
    k_rtsigset_t blocked = blockedSignals(false);
    if (ptrace(PTRACE_SETSIGMASK, pid, sizeof(blocked), &blocked) != 0)
        return failErrno(pid, "block its signals");
    return ptrace(PTRACE_CONT, pid, nullptr, nullptr) == 0 ? 1 : failErrno(pid, "run it to a breakpoint");
}

int ptrace_flush_breakpoints(pid_t pid) {
    if (setBreakpoint(pid, 0, 0) != 0)
        return failErrno(pid, "take its breakpoint away");
    return 0;
}

unsigned long compel_task_size() {
    // Tries the sizes that kernels can have: an address at the end of the smaller ones can be mapped, or is mapped.
    const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    unsigned long size = 0;
    for (const unsigned bits : {36u, 39u, 42u, 47u, 48u}) {
        void* const last = reinterpret_cast<void*>((1ul << bits) - page);
        void* const mapped = mmap(last, page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
        if (mapped == MAP_FAILED ? errno == EEXIST : mapped == last)
            size = 1ul << bits;
        if (mapped != MAP_FAILED)
            munmap(mapped, page);
    }
    return size;
}
}
