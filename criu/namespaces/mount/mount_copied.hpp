// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <memory>

#include "criu/namespaces/mount/mount_helpers.hpp"

namespace criu::namespaces {

/// For --new-pidns and a tree without mounts of its own: a copy of criu's mount namespace, which gets what is mounted
/// outside later, and in which /proc is that of the new pid namespace. The first process of the latter is born in it.
[[nodiscard]] bool copiesMounts(const RestoreInputs& inputs);

/// In that process: has /proc show its pid namespace, which nobody outside sees.
void mountOwnProc();

[[nodiscard]] std::unique_ptr<NamespaceRestore> makeCopiedMountRestore(const RestoreInputs& inputs,
                                                                       MountHelpers helpers);

}  // namespace criu::namespaces
