// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/image/arena.hpp"
#include "criu/model/id_map.hpp"
#include "criu/model/tree_pids.hpp"
#include "images/fown.fwd.hpp"

/// Signal owner of an open file description (F_SETOWN, F_SETSIG). Files of all fd kinds may have one.
namespace criu::files {

/// Reads the signal owner by any descriptor of the open file description. The uids and the pid are those of the host.
/// Returns an empty entry for an O_PATH descriptor, because it has no owner.
FownEntry* readOwner(int fd, Arena& arena);

/// Translates host uids and host pid to uids and pid of the tree. Clears the entry if the owner isn't in the tree.
void translateOwner(FownEntry& owner, const model::IdMap& ids, const model::TreePids& pids);

/// Sets only the signal (F_SETSIG) of a file.
void restoreSignal(int fd, const FownEntry& owner);

/// Sets the signal and the owner, which must exist. The caller must be root of the user namespace. Sets the caller's
/// uids to the dumped ones for the call, because the kernel stores the uids of the caller. It checks the stored uids
/// when it sends a signal.
void restoreOwner(int fd, const FownEntry& owner);

}  // namespace criu::files
