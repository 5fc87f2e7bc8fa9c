// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <memory>

#include "criu/namespaces/mount/mount_helpers.hpp"

namespace criu::namespaces {

/// True if --new-pidns restores a tree that has no private mount namespace. The tree then gets a copy of criu's mount
/// namespace, which receives later mounts from criu's. The first process of the new pid namespace is created in the
/// copy, and mounts a /proc for that pid namespace.
[[nodiscard]] bool copiesMounts(const RestoreInputs& inputs);

/// In that process: mounts a /proc that shows its pid namespace. Other mount namespaces don't get the mount.
void mountOwnProc();

[[nodiscard]] std::unique_ptr<NamespaceRestore> makeCopiedMountRestore(const RestoreInputs& inputs,
                                                                       MountHelpers helpers);

}  // namespace criu::namespaces
