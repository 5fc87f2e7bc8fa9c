// SPDX-License-Identifier: LGPL-2.1-only
#pragma once

#include <compel/remote_memory.hpp>

#include <optional>

namespace compel {

/// Memory from `start` to `end`. If `end` is lower than `start`, the memory wraps around the end of the address space.
struct MemoryBounds {
    RemoteAddress start;
    RemoteAddress end;
};

/// Finds a system call instruction with a restorer inside of bounds. Returns nothing if a process has none there, or
/// has much code there.
std::optional<SyscallInstruction> findReturningInstruction(pid_t pid, MemoryBounds bounds);

}  // namespace compel
