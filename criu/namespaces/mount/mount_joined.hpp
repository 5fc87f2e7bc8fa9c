// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <memory>

#include "criu/namespaces/mount/mount_helpers.hpp"

namespace criu::namespaces {

/// For --join-ns mnt: the tree goes to an existing mount namespace, whatever it was in before, and finds its files
/// there by their paths; mounts of the images aren't made.
[[nodiscard]] std::unique_ptr<NamespaceRestore> makeJoinedMountRestore(const RestoreInputs& inputs,
                                                                       MountHelpers helpers);

}  // namespace criu::namespaces
