// SPDX-License-Identifier: GPL-2.0-only
// Probes for kernel features that exist only on some processors, and the size of the address space.
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/uio.h>

#include <cerrno>
#include <csignal>
#include <cstdint>

#include "criu/base/error.hpp"
#include "criu/base/machine.hpp"
#include "criu/kernel/probe/child.hpp"
#include "criu/kernel/probe/probes.hpp"

namespace criu {

namespace {

/// Returns true if a task can have memory at the end of an address space of `size` bytes.
bool reaches(std::uint64_t size) noexcept {
    const std::size_t page = machinePageSize();
    void* const last = reinterpret_cast<void*>(size - page);
    void* const mapped = ::mmap(last, page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (mapped == MAP_FAILED)
        return errno == EEXIST;
    ::munmap(mapped, page);
    return true;
}

std::uint64_t probedTaskSize() noexcept {
    // CONFIG_ARM64_VA_BITS of Linux. 52-bit kernels use addresses above 48 bits only by request.
    for (const unsigned bits : {48U, 47U, 42U, 39U})
        if (reaches(std::uint64_t{1} << bits))
            return std::uint64_t{1} << bits;
    return std::uint64_t{1} << 36;
}

}  // namespace

std::uint64_t taskSize() noexcept {
    static const std::uint64_t size = probedTaskSize();
    return size;
}

namespace kernel::probe {

namespace {

[[gnu::noinline]] void breakHere() {
    asm volatile("" ::: "memory");
}

/// Register set of hardware breakpoints, with the first breakpoint only (struct user_hwdebug_state of asm/ptrace.h).
struct FirstBreakpoint {
    std::uint32_t info = 0;
    std::uint32_t padding = 0;
    std::uint64_t address = 0;
    std::uint32_t control = 0;
    std::uint32_t paddingOfControl = 0;
};

}  // namespace

bool mapVdso() {
    return false;
}

bool compatTasks() {
    return false;
}

bool shadowStack() {
    return false;
}

bool breakpoints() {
    TracedChild child([] { breakHere(); });
    constexpr unsigned kBreakpointSet = 0x402;                      // NT_ARM_HW_BREAK
    constexpr std::uint32_t kExecute = 0xfU << 5U | 2U << 1U | 1U;  // DBGBCR_EL1: four bytes, unprivileged, enabled
    FirstBreakpoint first{.address = reinterpret_cast<std::uint64_t>(&breakHere), .control = kExecute};
    iovec window{&first, sizeof(first)};
    return ::ptrace(PTRACE_SETREGSET, child.pid(), kBreakpointSet, &window) == 0 && child.resumeUntilStop() == SIGTRAP;
}

}  // namespace kernel::probe

}  // namespace criu
