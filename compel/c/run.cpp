// SPDX-License-Identifier: LGPL-2.1-only
// Runs code and system calls in stopped threads of an infected process.
#include <compel/plugins/std/syscall-codes.h>
#include <compel/ptrace.h>
#include <elf.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "compel/c/control.hpp"

namespace compel::c {

namespace {

constexpr int syscallStop = SIGTRAP | 0x80;

/// Scope that restores the extended registers of a thread at its end, because the code that runs in the scope may
/// change them.
class ExtendedRegisters {
public:
    ~ExtendedRegisters() { free(state_); }
    ExtendedRegisters() = default;
    ExtendedRegisters(const ExtendedRegisters&) = delete;
    ExtendedRegisters& operator=(const ExtendedRegisters&) = delete;

    int save(int pid) {
        state_ = static_cast<user_fpregs_struct_t*>(aligned_alloc(alignof(user_fpregs_struct_t), sizeof(*state_)));
        if (state_ == nullptr)
            return fail(pid, "no memory for its registers");
        const auto nothing = [](pid_t, void*, user_regs_struct_t*, user_fpregs_struct_t*) { return 0; };
        user_regs_struct_t regs;
        if (ptrace_get_regs(pid, &regs) != 0)
            return -1;
        return compel_get_task_regs(pid, &regs, state_, nothing, nullptr, 0);
    }
    int restore(int pid) { return compel_set_task_ext_regs(pid, state_); }

private:
    user_fpregs_struct_t* state_ = nullptr;
};

/// Runs a stopped thread from `ip` until it reaches a breakpoint instruction, then restores its registers. `regs`: gets
/// the registers at the breakpoint.
int runToTrap(int pid, unsigned long ip, void* stack, thread_ctx* own, user_regs_struct_t* regs) {
    *regs = own->regs;
    if (resumeAt(pid, PTRACE_CONT, ip, stack, regs, own) != 0)
        return -1;
    int result = -1;
    int signal;
    siginfo_t info;
    if (waitStop(pid, &signal) != 0)
        return -1;
    if (ptrace(PTRACE_GETSIGINFO, pid, nullptr, &info) != 0)
        failErrno(pid, "ask for its stop's signal");
    else if (signal != SIGTRAP || info.si_code != ARCH_SI_TRAP)
        compel_print_on_level(COMPEL_LOG_ERROR, "process %d: code that was run in it got signal %d (code %d)\n", pid,
                              info.si_signo, info.si_code);
    else
        result = ptrace_get_regs(pid, regs);
    return restoreThread(pid, own) == 0 ? result : -1;
}

int stepToCall(int pid) {
    return ptrace(PTRACE_SYSCALL, pid, nullptr, nullptr) == 0 ? 0 : failErrno(pid, "run it to its next system call");
}

int waitTrap(int pid, int* which, int* signal) {
    int status;
    do
        *which = wait4(pid, &status, __WALL, nullptr);
    while (*which == -1 && errno == EINTR);
    if (*which == -1)
        return failErrno(pid, "wait for it");
    if (!WIFSTOPPED(status))
        return fail(*which, "it has ended");
    *signal = WSTOPSIG(status);
    return (*signal & ~0x80) == SIGTRAP ? 0 : fail(*which, "it stops by a signal where it should run on");
}

bool isCall(user_regs_struct_t* regs, long native, long compat) {
    return static_cast<long>(REG_SYSCALL_NR(*regs)) == (user_regs_native(regs) ? native : compat);
}

/// Runs `tasks` threads until each of them has left a system call with this number. `pid`: the thread; -1 if there are
/// several.
int followToCall(int pid, int tasks, long native, long compat) {
    while (tasks > 0) {
        int which;
        int signal;
        if (waitTrap(pid, &which, &signal) != 0)
            return -1;
        user_regs_struct_t regs;
        if (signal != syscallStop) {
            if (ptrace_flush_breakpoints(which) != 0)
                return -1;
        } else if (ptrace_get_regs(which, &regs) != 0) {
            return -1;
        } else if (isCall(&regs, native, compat)) {
            // The thread is at the entry of the system call, so that its next stop is the exit.
            int other;
            if (stepToCall(which) != 0 || waitTrap(which, &other, &signal) != 0)
                return -1;
            --tasks;
            continue;
        }
        if (stepToCall(which) != 0)
            return -1;
    }
    return 0;
}

}  // namespace

k_rtsigset_t blockedSignals(bool withTrap) {
    k_rtsigset_t all;
    ksigfillset(&all);
    if (!withTrap)
        ksigdelset(&all, SIGTRAP);
    return all;
}

int waitStop(int pid, int* signal) {
    int status;
    int found;
    do
        found = wait4(pid, &status, __WALL, nullptr);
    while (found == -1 && errno == EINTR);
    if (found == -1)
        return failErrno(pid, "wait for it");
    if (!WIFSTOPPED(status))
        return fail(pid, "it has ended");
    *signal = WSTOPSIG(status);
    return 0;
}

int restoreThread(int pid, thread_ctx* own) {
    int result = 0;
    if (ptrace_set_regs(pid, &own->regs) != 0)
        result = failErrno(pid, "give it its registers back");
    if (ptrace(PTRACE_SETSIGMASK, pid, sizeof(own->sigmask), &own->sigmask) != 0)
        result = failErrno(pid, "give it its signal mask back");
    return result;
}

int resumeAt(int pid, int request, unsigned long ip, void* stack, user_regs_struct_t* regs, thread_ctx* own) {
    // Doesn't block SIGTRAP if the code ends with a breakpoint: for a blocked SIGTRAP, the kernel would reset the
    // process' handler of this signal.
    k_rtsigset_t blocked = blockedSignals(request != PTRACE_CONT);
    if (ptrace(PTRACE_SETSIGMASK, pid, sizeof(blocked), &blocked) != 0)
        return failErrno(pid, "block its signals");
    parasite_setup_regs(ip, stack, regs);
    if (ptrace_set_regs(pid, regs) == 0) {
        if (ptrace(static_cast<__ptrace_request>(request), pid, nullptr, nullptr) == 0)
            return 0;
        failErrno(pid, "run code in it");
    } else {
        failErrno(pid, "set its registers");
    }
    restoreThread(pid, own);
    return -1;
}

int runThroughCall(int pid, long native, long compat) {
    return followToCall(pid, 1, native, compat);
}

}  // namespace compel::c

using namespace compel::c;

extern "C" {

int compel_execute_syscall(parasite_ctl* ctl, user_regs_struct_t* regs, const char* instruction) {
    const int pid = ctl->rpid;
    void* const place = reinterpret_cast<void*>(ctl->ictx.syscall_ip);
    char code[8];
    memcpy(code, instruction, sizeof(code));
    if (ptrace_swap_area(pid, place, code, sizeof(code)) != 0)
        return fail(pid, "put a system call instruction into it");
    int result = resumeAt(pid, PTRACE_SYSCALL, ctl->ictx.syscall_ip, nullptr, regs, &ctl->orig);
    if (result == 0) {
        // Waits for two stops: entry and exit of the system call. Ignores other stops in between, because other
        // processes may request a stop.
        int stops = 0;
        while (stops < 2 && result == 0) {
            int signal = 0;
            result = waitStop(pid, &signal);
            if (result == 0 && (signal & ~0x80) == SIGTRAP && signal == syscallStop)
                ++stops;
            if (result == 0 && stops < 2)
                result = stepToCall(pid);
        }
        if (result == 0)
            result = ptrace_get_regs(pid, regs);
        if (restoreThread(pid, &ctl->orig) != 0)
            result = -1;
        // Moves the thread from its syscall-exit stop to the stop of PTRACE_INTERRUPT, because the kernel restarts an
        // interrupted system call only from the latter.
        int signal;
        if (result == 0 && (ptrace(PTRACE_INTERRUPT, pid, nullptr, nullptr) != 0 ||
                            ptrace(PTRACE_CONT, pid, nullptr, nullptr) != 0 || waitStop(pid, &signal) != 0))
            result = fail(pid, "stop it after a system call");
    }
    if (ptrace_poke_area(pid, code, place, sizeof(code)) != 0)
        result = fail(pid, "its code is left changed");
    return result;
}

int compel_run_at(parasite_ctl* ctl, unsigned long ip, user_regs_struct_t* ret_regs) {
    user_regs_struct_t regs;
    return runToTrap(ctl->rpid, ip, nullptr, &ctl->orig, ret_regs != nullptr ? ret_regs : &regs);
}

int compel_run_in_thread(parasite_thread_ctl* tctl, unsigned int cmd) {
    ExtendedRegisters extended;
    if (extended.save(tctl->tid) != 0)
        return -1;
    *tctl->ctl->cmd = cmd;
    user_regs_struct_t regs;
    int result = runToTrap(tctl->tid, tctl->ctl->parasite_ip, tctl->ctl->r_thread_stack, &tctl->th, &regs);
    if (extended.restore(tctl->tid) != 0)
        result = -1;
    if (result == 0)
        result = static_cast<int>(REG_RES(regs));
    if (result != 0)
        compel_print_on_level(COMPEL_LOG_ERROR, "thread %d: command %u ended with %d\n", tctl->tid, cmd, result);
    return result;
}

int compel_unmap(parasite_ctl* ctl, unsigned long addr) {
    user_regs_struct_t regs = ctl->orig.regs;
    if (resumeAt(ctl->rpid, PTRACE_SYSCALL, addr, ctl->rstack, &regs, &ctl->orig) != 0)
        return -1;
    const int result = runThroughCall(ctl->rpid, __NR_munmap, __NR32_munmap);
    return restoreThread(ctl->rpid, &ctl->orig) == 0 ? result : -1;
}

int compel_stop_pie(pid_t pid, void* addr, bool no_bp) {
    const int result = no_bp ? 0 : ptrace_set_breakpoint(pid, addr);
    if (result != 0)
        return result < 0 ? result : 0;
    return stepToCall(pid);
}

int compel_stop_on_syscall(int tasks, int sys_nr, int sys_nr_compat) {
    return followToCall(-1, tasks, sys_nr, sys_nr_compat);
}

void* remote_mmap(parasite_ctl* ctl, void* address, size_t length, int protection, int flags, int fd, off_t offset) {
    long result;
    if (compel_syscall(ctl, __NR_mmap, &result, reinterpret_cast<unsigned long>(address), length,
                       static_cast<unsigned long>(protection), static_cast<unsigned long>(flags),
                       static_cast<unsigned long>(fd), static_cast<unsigned long>(offset)) != 0)
        return nullptr;
    if (result < 0 && result >= -4095) {
        errno = static_cast<int>(-result);
        failErrno(ctl->rpid, "map memory in it");
        return nullptr;
    }
    return reinterpret_cast<void*>(result);
}

long remote_mprotect(parasite_ctl* ctl, void* address, size_t length, int protection) {
    long result;
    if (compel_syscall(ctl, __NR_mprotect, &result, reinterpret_cast<unsigned long>(address), length,
                       static_cast<unsigned long>(protection), 0, 0, 0) != 0)
        return -1;
    return result;
}
}
