// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/base/unique_fd.hpp"
#include "criu/namespaces/mount/mount_images.hpp"

namespace criu::namespaces {

/// What a restored mount is of, if that is in criu's own mount namespace: the tree's root, external mounts, the devpts
/// of the machine. Nothing for all others. Throws Error, with what to give, if it isn't known.
[[nodiscard]] UniqueFd openOutsideMount(const Mount& mount, const MountImages& mounts, const ImageDir& images,
                                        const model::Options& options);

/// The calling process' root directory, O_PATH.
[[nodiscard]] UniqueFd openRootDirectory();

}  // namespace criu::namespaces
