// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace criu::kernel {

/// Kinds of System V IPC objects (sysvipc(7)). All functions of this file act on the IPC namespace of the calling
/// thread.
enum class IpcKind : std::uint8_t { Messages, Semaphores, SharedMemory };

/// Returns "msg", "sem" or "shm". The names of the kind's sysctl files begin with this text.
[[nodiscard]] std::string_view ipcName(IpcKind kind) noexcept;

/// Returns the ids of all objects of a kind. Throws Error.
[[nodiscard]] std::vector<int> listIpcIds(IpcKind kind);

/// Sets the id that the kernel gives to the next new object of the kind (sysctl/kernel.rst: msg_next_id). Needs
/// CAP_CHECKPOINT_RESTORE or CAP_SYS_ADMIN. Throws Error.
void chooseNextIpcId(IpcKind kind, int id);

}  // namespace criu::kernel
