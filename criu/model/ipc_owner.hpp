// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/ipc.h>
#include <sys/types.h>

#include "criu/model/id_map.hpp"
#include "images/ipc-desc.fwd.hpp"

/// Owner, creator and mode of System V IPC objects: shared memory, semaphores and messages have the same form in
/// images.
namespace criu::model {

/// Returns key, owner, creator and mode for images.
[[nodiscard]] IpcDescEntry describeIpc(int id, const ipc_perm& permissions) noexcept;

/// Change owner and creator from outer to inner ids (IdMap), and back. On the way back, unmapped ids become criu's
/// effective uid or gid.
void toInside(IpcDescEntry& desc, const IdMap& ids) noexcept;
void toOutside(IpcDescEntry& desc, const IdMap& ids) noexcept;

/// Throws Error if the numbers can't be those of an object. `what` names the kind.
void requireIpcDesc(const IpcDescEntry& desc, const char* what);

}  // namespace criu::model
