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

/// Makes the raw ptrace(2) system call in the tracing thread. libc's function returns a read word instead of storing
/// it. Returns -1 with errno on failure.
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

/// Converts a pointer to the type of ptrace(2)'s arguments.
inline std::uint64_t addressOf(const void* pointer) noexcept {
    return reinterpret_cast<std::uintptr_t>(pointer);
}

}  // namespace compel
