// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/base/unique_fd.hpp"
#include "criu/namespaces/mount/mount_images.hpp"

namespace criu::namespaces {

/// Clones the mount of criu's mount namespace that is the source of a restored mount: the tree's root, an external
/// mount, or criu's devpts. Returns an empty descriptor for all other mounts. Throws Error with the missing option if
/// the source is unknown.
[[nodiscard]] UniqueFd openOutsideMount(const Mount& mount, const MountImages& mounts, const ImageDir& images,
                                        const model::Options& options);

/// Opens the root directory of the calling process with O_PATH.
[[nodiscard]] UniqueFd openRootDirectory();

}  // namespace criu::namespaces
