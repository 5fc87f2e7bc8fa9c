// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <string>

#include "criu/base/log.hpp"
#include "criu/image/arena.hpp"
#include "images/ipc-var.hpp"

/// Sysctls of the calling thread's IPC namespace (sysvipc(7), mq_overview(7)).
namespace criu::namespaces {

/// Reads all that images have.
void readIpcLimits(IpcVarEntry& entry, Arena& arena);

/// Sets what differs from what the namespace has. When all objects have been made, as these take what is in
/// msg_next_id and its like. What this kernel lacks or doesn't let anybody set is warned of. Throws Error.
void writeIpcLimits(const IpcVarEntry& entry, Log& log);

/// The one that writeIpcLimits() leaves out: shared memory that nobody has attached goes when its creator ends. When
/// the processes have attached theirs.
void writeForcedRemoval(const IpcVarEntry& entry, Log& log);

/// Sets a limit, "kernel/msgmax", unless it is at least as high. Throws Error.
void raiseIpcLimit(const std::string& name, std::uint64_t atLeast);

}  // namespace criu::namespaces
