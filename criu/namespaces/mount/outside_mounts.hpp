// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/base/unique_fd.hpp"
#include "criu/namespaces/mount/mount_images.hpp"

namespace criu::namespaces {

/// Clones from criu's mount namespace the source of a restored mount. Such a source exists for the tree's root, an
/// external mount, and criu's devpts. Returns an empty descriptor for all other mounts. If the source is unknown,
/// throws Error with the missing option.
[[nodiscard]] UniqueFd openOutsideMount(const Mount& mount, const MountImages& mounts, const ImageDir& images,
                                        const model::Options& options);

/// Opens the root directory of the calling process with O_PATH.
[[nodiscard]] UniqueFd openRootDirectory();

}  // namespace criu::namespaces
