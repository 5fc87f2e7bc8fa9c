// SPDX-License-Identifier: GPL-2.0-only
// Probes for kernel features that exist only on x86.
#include <signal.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>

#include "criu/base/error.hpp"
#include "criu/base/machine.hpp"
#include "criu/base/mapping.hpp"
#include "criu/kernel/probe/child.hpp"
#include "criu/kernel/probe/probes.hpp"

namespace criu::kernel::probe {

namespace {

constexpr int kMapVdso32 = 0x2002;  // ARCH_MAP_VDSO_32 and ARCH_MAP_VDSO_64 of <asm/prctl.h>
constexpr int kMapVdso64 = 0x2003;

/// Returns true if the kernel supports an ARCH_MAP_VDSO_… request. A kernel with support returns EEXIST, because the
/// calling process already has a vDSO. Other kernels return EINVAL.
bool knowsVdsoRequest(int request) {
    return ::syscall(SYS_arch_prctl, request, 0) < 0 && errno == EEXIST;
}

/// Calls mmap2 through the 32-bit entry of the kernel (int 0x80). A kernel without 32-bit emulation kills the process.
std::uint64_t mapBy32BitCall(std::uint32_t size) {
    constexpr std::uint64_t mmap2 = 192;
    std::uint64_t result = mmap2;
    // First moves the stack pointer below the red zone, because the compiler may use the red zone. Then saves rbp on
    // the stack, because rbp holds the sixth argument.
    asm volatile(
        "lea -128(%%rsp), %%rsp\n\t"
        "push %%rbp\n\t"
        "xor %%ebp, %%ebp\n\t"
        "int $0x80\n\t"
        "pop %%rbp\n\t"
        "lea 128(%%rsp), %%rsp"
        : "+a"(result)
        : "b"(0ULL), "c"(static_cast<std::uint64_t>(size)), "d"(static_cast<std::uint64_t>(PROT_READ)),
          "S"(static_cast<std::uint64_t>(MAP_PRIVATE | MAP_ANONYMOUS)), "D"(0xffffffffULL)
        : "r8", "r9", "r10", "r11", "memory", "cc");
    return result;
}

[[gnu::noinline]] void breakHere() {
    asm volatile("" ::: "memory");
}

bool setDebugRegister(pid_t pid, std::size_t number, std::uint64_t value) {
    const std::size_t offset = offsetof(struct user, u_debugreg) + number * sizeof(user::u_debugreg[0]);
    return ::ptrace(PTRACE_POKEUSER, pid, offset, value) == 0;
}

}  // namespace

bool mapVdso() {
    return knowsVdsoRequest(kMapVdso64);
}

bool compatTasks() {
    if (!knowsVdsoRequest(kMapVdso32))
        return false;
    // Kernels before 4.12 return an address above 4 GiB, which a 32-bit program can't reach.
    return inChild([] {
        const std::uint64_t address = mapBy32BitCall(machinePageSize());
        constexpr std::uint64_t errorsFrom = 0xfffff000;  // 32-bit error codes are at or above this value
        return address != 0 && address < errorsFrom &&
               ::munmap(reinterpret_cast<void*>(address), machinePageSize()) == 0;
    });
}

bool shadowStack() {
    // Disables the shadow stack in the same assembler block that enables it. Otherwise a return instruction between the
    // two calls would fail, because the new shadow stack contains no return address.
    return inChild([] {
        constexpr std::int64_t enable = 0x5001;  // ARCH_SHSTK_… of <asm/prctl.h>, Linux 6.6
        constexpr std::int64_t disable = 0x5002;
        constexpr std::int64_t feature = 1;
        std::int64_t enabled = SYS_arch_prctl;
        asm volatile(
            "syscall\n\t"
            "test %%rax, %%rax\n\t"
            "jnz 1f\n\t"
            "mov %[call], %%eax\n\t"
            "mov %[disable], %%edi\n\t"
            "syscall\n"
            "1:"
            : "+a"(enabled)
            : "D"(enable), "S"(feature), [call] "i"(SYS_arch_prctl), [disable] "i"(disable)
            : "rcx", "r11", "memory", "cc");
        return enabled == 0;
    });
}

bool breakpoints() {
    TracedChild child([] { breakHere(); });
    constexpr std::uint64_t executeAtFirst = 1;  // DR7: enables address 0, type "execute", length 1
    return setDebugRegister(child.pid(), 0, reinterpret_cast<std::uint64_t>(&breakHere)) &&
           setDebugRegister(child.pid(), 7, executeAtFirst) && child.resumeUntilStop() == SIGTRAP;
}

}  // namespace criu::kernel::probe
