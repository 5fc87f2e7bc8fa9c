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

/// Makes the ptrace(2) system call in the tracing thread. Returns its result, or -1 with errno after a failure.
/// Bypasses libc's function: for requests that read a word, that function changes the meaning of the result.
inline long rawPtrace(long number, pid_t tid, std::uint64_t address, std::uint64_t data) noexcept {
    long result = -1;
    int code = 0;
    const auto call = [&] {
        result = ::syscall(SYS_ptrace, number, static_cast<long>(tid), address, data);
        code = errno;
    };
    inTracingThread(std::ref(call));  // std::ref() prevents an allocation of memory for the function object
    errno = code;
    return result;
}

/// Returns a pointer as a number, for arguments of ptrace(2).
inline std::uint64_t addressOf(const void* pointer) noexcept {
    return reinterpret_cast<std::uintptr_t>(pointer);
}

}  // namespace compel
