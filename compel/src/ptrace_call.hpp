// SPDX-License-Identifier: LGPL-2.1-only
#pragma once

#include <compel/tracing_thread.hpp>

#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <functional>

namespace compel {

/// ptrace(2) as the kernel has it: libc's returns the word that was read instead of storing it. -1 and errno on
/// failure. It is made by the thread that traces.
inline long rawPtrace(long number, pid_t tid, std::uint64_t address, std::uint64_t data) noexcept {
    long result = -1;
    int code = 0;
    const auto call = [&] {
        result = ::syscall(SYS_ptrace, number, static_cast<long>(tid), address, data);
        code = errno;
    };
    inTracingThread(std::ref(call));  // a reference needs no memory
    errno = code;
    return result;
}

/// An address as ptrace(2) takes it.
inline std::uint64_t addressOf(const void* pointer) noexcept {
    return reinterpret_cast<std::uintptr_t>(pointer);
}

}  // namespace compel
