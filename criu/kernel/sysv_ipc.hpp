// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace criu::kernel {

/// What sysvipc(7) has. All calls are about the IPC namespace of the calling thread.
enum class IpcKind : std::uint8_t { Messages, Semaphores, SharedMemory };

/// "msg", "sem" or "shm", as names of sysctls begin.
[[nodiscard]] std::string_view ipcName(IpcKind kind) noexcept;

/// All ids of a kind. Throws Error.
[[nodiscard]] std::vector<int> listIpcIds(IpcKind kind);

/// Has the kernel take this id for the next object of the kind (sysctl/kernel.rst: msg_next_id). Needs
/// CAP_CHECKPOINT_RESTORE or CAP_SYS_ADMIN. Throws Error.
void chooseNextIpcId(IpcKind kind, int id);

}  // namespace criu::kernel
