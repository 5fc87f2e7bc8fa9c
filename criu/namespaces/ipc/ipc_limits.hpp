// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <string>

#include "criu/base/log.hpp"
#include "criu/image/arena.hpp"
#include "images/ipc-var.hpp"

/// Sysctls of the calling thread's IPC namespace (sysvipc(7), mq_overview(7)).
namespace criu::namespaces {

/// Reads all sysctls of the IPC namespace that images contain.
void readIpcLimits(IpcVarEntry& entry, Arena& arena);

/// Sets the sysctls whose values differ from the images, except shm_rmid_forced. Must follow the creation of all
/// objects, because the creation of an object resets a sysctl such as msg_next_id. Warns of sysctls that the kernel
/// lacks or doesn't permit to set. Throws Error.
void writeIpcLimits(const IpcVarEntry& entry, Log& log);

/// Sets shm_rmid_forced. With this sysctl, the kernel removes a segment that no process has attached when its creator
/// ends. Must therefore follow the attachment of all segments.
void writeForcedRemoval(const IpcVarEntry& entry, Log& log);

/// Raises a limit, such as "kernel/msgmax", to at least this value. Throws Error.
void raiseIpcLimit(const std::string& name, std::uint64_t atLeast);

}  // namespace criu::namespaces
