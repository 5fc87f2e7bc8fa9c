// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace criu::kernel {

/// Kinds of System V IPC objects (sysvipc(7)). All calls act on the IPC namespace of the calling thread.
enum class IpcKind : std::uint8_t { Messages, Semaphores, SharedMemory };

/// Returns "msg", "sem" or "shm", the prefixes of the sysctl names.
[[nodiscard]] std::string_view ipcName(IpcKind kind) noexcept;

/// Returns all ids of a kind. Throws Error.
[[nodiscard]] std::vector<int> listIpcIds(IpcKind kind);

/// Makes the kernel use this id for the next object of the kind (sysctl/kernel.rst: msg_next_id). Needs
/// CAP_CHECKPOINT_RESTORE or CAP_SYS_ADMIN. Throws Error.
void chooseNextIpcId(IpcKind kind, int id);

}  // namespace criu::kernel
