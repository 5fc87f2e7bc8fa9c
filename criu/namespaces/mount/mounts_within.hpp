// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <set>

#include "criu/base/unique_fd.hpp"
#include "criu/namespaces/mount/mount_tree.hpp"

namespace criu::namespaces {

/// Mounts of a namespace that belongs to a nested user namespace. The kernel copies external mounts for the user
/// namespace and locks them: processes with capabilities there can neither uncover mounts nor clear flags
/// (mount_namespaces(7)). A process in the user namespace attaches all other mounts, which aren't locked.

/// Returns the mounts that this process attaches: all except external ones on other external ones.
[[nodiscard]] std::set<int> mountsToAttachInUserns(const MountTree& tree);

/// Directory of the mount staging for the root.
inline constexpr const char* kPlaceWithin = "assembled";

struct UsernsMounts {
    UniqueFd space;
    UniqueFd root;
};

/// Attaches the mounts `within` in the user namespace `owner`. The root of the calling process contains each of these
/// mounts by its id, the mounts that stay on it, and an empty directory kPlaceWithin. `proc`: a temporary proc file
/// system; may be empty.
[[nodiscard]] UsernsMounts attachInUserns(const UniqueFd& owner, const MountTree& tree, const std::set<int>& within,
                                          const UniqueFd& proc);

}  // namespace criu::namespaces
