// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/image/arena.hpp"
#include "criu/model/id_map.hpp"
#include "criu/model/tree_pids.hpp"
#include "images/fown.fwd.hpp"

/// Signal owner of an open file description (F_SETOWN, F_SETSIG). All fd kinds have it.
namespace criu::files {

/// Reads the signal owner by any descriptor of the description, with host uids and pid. An O_PATH descriptor has none.
FownEntry* readOwner(int fd, Arena& arena);

/// Translates uids and pid to those of the tree. Clears the owner if its process isn't in the tree.
void translateOwner(FownEntry& owner, const model::IdMap& ids, const model::TreePids& pids);

/// Sets only the signal (F_SETSIG).
void restoreSignal(int fd, const FownEntry& owner);

/// Sets the owner and the signal; the owner process must exist. Runs as root of the user namespace and takes the
/// recorded uids for the call: the kernel stores the setter's uids for permission checks of later signals.
void restoreOwner(int fd, const FownEntry& owner);

}  // namespace criu::files
