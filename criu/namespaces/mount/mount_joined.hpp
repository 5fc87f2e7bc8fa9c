// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <memory>

#include "criu/namespaces/mount/mount_helpers.hpp"

namespace criu::namespaces {

/// Creates the restore of mounts for --join-ns mnt. The tree enters an existing mount namespace, and opens its files
/// there by their paths. Mounts of the images aren't restored.
[[nodiscard]] std::unique_ptr<NamespaceRestore> makeJoinedMountRestore(const RestoreInputs& inputs,
                                                                       MountHelpers helpers);

}  // namespace criu::namespaces
