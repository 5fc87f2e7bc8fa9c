// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/ipc.h>
#include <sys/types.h>

#include <functional>

#include "images/ipc-desc.hpp"

/// What the three kinds of System V IPC have in common.
namespace criu::namespaces {

/// Key, owner, creator and mode, for images.
[[nodiscard]] IpcDescEntry describeIpc(int id, const ipc_perm& permissions) noexcept;

/// Throws Error if the numbers can't be those of an object; `what` names the kind.
void requireIpcDesc(const IpcDescEntry& desc, const char* what);

/// Runs `work` with the effective user and group of an object's creator, which only creating it sets. The calling
/// thread must be root's; it alone is changed, and back afterwards. Throws Error.
void asCreator(const IpcDescEntry& desc, const std::function<void()>& work);

}  // namespace criu::namespaces
