// SPDX-License-Identifier: LGPL-2.1-only
#pragma once

#include <compel/remote_memory.hpp>

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string_view>

namespace compel {

/// A system call instruction in executable memory of a process.
struct SyscallInstruction {
    SyscallInstruction(RemoteAddress at, RemoteAddress returning = 0) noexcept : address(at), restorer(returning) {}

    RemoteAddress address;
    /// Code of the process that calls rt_sigreturn(2). A return instruction follows `address` then, so that a thread
    /// whose tracer dies can go on through a signal frame. 0: the process has no such code.
    RemoteAddress restorer;
};

/// Looks for a system call instruction with a restorer in a dynamic linker, a C library and other small mappings, and
/// for any other in the vDSO and then elsewhere. Nothing if no readable executable mapping has one.
std::optional<SyscallInstruction> findSyscallInstruction(pid_t pid);
/// The same; `visit` is told the name of each mapping.
std::optional<SyscallInstruction> findSyscallInstruction(pid_t pid, const std::function<void(std::string_view)>& visit);

}  // namespace compel
