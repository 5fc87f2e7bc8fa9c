// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <set>

#include "criu/base/unique_fd.hpp"
#include "criu/namespaces/mount/mount_tree.hpp"

namespace criu::namespaces {

/// Mounts of a mount namespace that belongs to a nested user namespace. The kernel copies external mounts for the user
/// namespace and locks them. Processes of the user namespace can then neither uncover mounts nor clear flags
/// (mount_namespaces(7)). A process in the user namespace attaches all other mounts, so they aren't locked.

/// Returns the ids of mounts that a process in the user namespace attaches. These are all mounts, except external
/// mounts on other external mounts.
[[nodiscard]] std::set<int> mountsToAttachInUserns(const MountTree& tree);

/// Directory of the mount staging in which the root of the namespace is attached.
inline constexpr const char* kPlaceWithin = "assembled";

struct UsernsMounts {
    UniqueFd space;
    UniqueFd root;
};

/// Attaches the mounts `within` in the user namespace `owner`. The root directory of the calling process must contain
/// each of these mounts by its id, and an empty directory kPlaceWithin. `proc`: temporary proc file system for /proc;
/// may be empty.
[[nodiscard]] UsernsMounts attachInUserns(const UniqueFd& owner, const MountTree& tree, const std::set<int>& within,
                                          const UniqueFd& proc);

}  // namespace criu::namespaces
