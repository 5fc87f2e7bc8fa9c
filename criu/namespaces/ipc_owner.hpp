// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/ipc.h>
#include <sys/types.h>

#include <functional>

#include "criu/namespaces/id_map.hpp"
#include "images/ipc-desc.hpp"

/// What the three kinds of System V IPC have in common.
namespace criu::namespaces {

/// Key, owner, creator and mode, for images.
[[nodiscard]] IpcDescEntry describeIpc(int id, const ipc_perm& permissions) noexcept;

/// Changes owner and creator from how criu calls them to how the tree does, and back. Who has no number in the tree's
/// user namespace is criu's user in the end.
void toInside(IpcDescEntry& desc, const IdMap& ids) noexcept;
void toOutside(IpcDescEntry& desc, const IdMap& ids) noexcept;

/// Throws Error if the numbers can't be those of an object; `what` names the kind.
void requireIpcDesc(const IpcDescEntry& desc, const char* what);

/// Runs `work` with the effective user and group of an object's creator, which only creating it sets. The calling
/// thread must be root's; it alone is changed, and back afterwards. Throws Error.
void asCreator(const IpcDescEntry& desc, const std::function<void()>& work);

}  // namespace criu::namespaces
