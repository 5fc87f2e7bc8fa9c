// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <memory>

#include "criu/namespaces/mount/mount_helpers.hpp"

namespace criu::namespaces {

/// Returns true if --new-pidns restores a tree that has no private mount namespace. The tree then gets a copy of criu's
/// mount namespace; mounts that criu's namespace gets later appear in the copy, too. The copy is needed for a private
/// /proc: the first process of the new pid namespace mounts a /proc that shows this pid namespace.
[[nodiscard]] bool copiesMounts(const RestoreInputs& inputs);

/// Mounts a /proc that shows the pid namespace of the calling process. The mount doesn't appear in other mount
/// namespaces.
void mountOwnProc();

[[nodiscard]] std::unique_ptr<NamespaceRestore> makeCopiedMountRestore(const RestoreInputs& inputs,
                                                                       MountHelpers helpers);

}  // namespace criu::namespaces
