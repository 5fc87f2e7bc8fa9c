// SPDX-License-Identifier: LGPL-2.1-only
#pragma once

#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#include <cstdint>

namespace compel {

/// ptrace(2) as the kernel has it: libc's returns the word that was read instead of storing it. -1 and errno on
/// failure.
inline long rawPtrace(long number, pid_t tid, std::uint64_t address, std::uint64_t data) noexcept {
    return ::syscall(SYS_ptrace, number, static_cast<long>(tid), address, data);
}

/// An address as ptrace(2) takes it.
inline std::uint64_t addressOf(const void* pointer) noexcept {
    return reinterpret_cast<std::uintptr_t>(pointer);
}

}  // namespace compel
