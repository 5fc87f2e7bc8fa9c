// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/base/unique_fd.hpp"
#include "criu/namespaces/mount/mount_images.hpp"

namespace criu::namespaces {

/// Clones the mount of criu's mount namespace that a restored mount comes from: the tree's root, an external mount, or
/// the devpts of the machine. Returns nothing for all other mounts. Throws Error with the option to use if the mount
/// isn't known.
[[nodiscard]] UniqueFd openOutsideMount(const Mount& mount, const MountImages& mounts, const ImageDir& images,
                                        const model::Options& options);

/// Opens the root directory of the calling process with O_PATH.
[[nodiscard]] UniqueFd openRootDirectory();

}  // namespace criu::namespaces
