// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <string>

#include "criu/base/log.hpp"
#include "criu/image/arena.hpp"
#include "images/ipc-var.hpp"

/// Sysctls of the calling thread's IPC namespace (sysvipc(7), mq_overview(7)).
namespace criu::namespaces {

/// Reads all sysctls that images contain.
void readIpcLimits(IpcVarEntry& entry, Arena& arena);

/// Sets the sysctls that differ, except shm_rmid_forced. Call it when all objects are created, because creating one
/// resets msg_next_id and its like. Warns of sysctls that the kernel lacks or doesn't permit to set. Throws Error.
void writeIpcLimits(const IpcVarEntry& entry, Log& log);

/// Sets shm_rmid_forced, with which the kernel removes unattached segments when their creator ends. Call it when the
/// processes have attached theirs.
void writeForcedRemoval(const IpcVarEntry& entry, Log& log);

/// Raises a limit, for instance "kernel/msgmax", to at least this value. Throws Error.
void raiseIpcLimit(const std::string& name, std::uint64_t atLeast);

}  // namespace criu::namespaces
