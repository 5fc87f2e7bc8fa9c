// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <memory>

#include "criu/namespaces/mount/mount_helpers.hpp"

namespace criu::namespaces {

/// Returns true if --new-pidns restores a tree that has no private mount namespace. The tree then gets a copy of criu's
/// mount namespace, which also receives later mounts from criu's. criu creates the first process of the new pid
/// namespace in the copy, and this process mounts a /proc that shows its pid namespace.
[[nodiscard]] bool copiesMounts(const RestoreInputs& inputs);

/// Mounts a /proc that shows the pid namespace of the calling process. Other mount namespaces don't get this mount.
void mountOwnProc();

[[nodiscard]] std::unique_ptr<NamespaceRestore> makeCopiedMountRestore(const RestoreInputs& inputs,
                                                                       MountHelpers helpers);

}  // namespace criu::namespaces
