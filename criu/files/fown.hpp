// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/image/arena.hpp"
#include "criu/model/id_map.hpp"
#include "criu/model/tree_pids.hpp"
#include "images/fown.fwd.hpp"

/// Who gets signals about an open file description (F_SETOWN, F_SETSIG). Part of every kind of file.
namespace criu::files {

/// Reads the owner of a description through any descriptor of it, with uids and pid as criu has them. An O_PATH
/// descriptor has none.
FownEntry* readOwner(int fd, Arena& arena);

/// Has the uids and the pid as the tree calls them. No owner is left if the tree doesn't know the process.
void translateOwner(FownEntry& owner, const model::IdMap& ids, const model::TreePids& pids);

/// Sets only which signal it gets (F_SETSIG).
void restoreSignal(int fd, const FownEntry& owner);

/// Sets it again, and which signal it gets; the owner process must exist. Runs as root of the namespace and takes on
/// the recorded uids meanwhile: the kernel stores the uids of the setter for permission checks at signal time.
void restoreOwner(int fd, const FownEntry& owner);

}  // namespace criu::files
