// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/ipc.h>
#include <sys/types.h>

#include "criu/model/id_map.hpp"
#include "images/ipc-desc.fwd.hpp"

/// Functions for owner, creator and mode of System V IPC objects. Shared memory, semaphores and messages have the same
/// fields for these in images.
namespace criu::model {

/// Returns key, owner, creator and mode in the form of images.
[[nodiscard]] IpcDescEntry describeIpc(int id, const ipc_perm& permissions) noexcept;

/// Translates owner and creator from outer ids to inner ids (IdMap).
void toInside(IpcDescEntry& desc, const IdMap& ids) noexcept;
void toOutside(IpcDescEntry& desc, const IdMap& ids) noexcept;

/// Throws Error if the image's numbers are invalid for an object. `what` names the kind of object in messages.
void requireIpcDesc(const IpcDescEntry& desc, const char* what);

}  // namespace criu::model
