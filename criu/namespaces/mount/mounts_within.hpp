// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <set>

#include "criu/base/unique_fd.hpp"
#include "criu/namespaces/mount/mount_tree.hpp"

namespace criu::namespaces {

/// Mounts of a mount namespace that a nested user namespace owns. The kernel copies external mounts for the user
/// namespace and locks the copies. Processes of the user namespace can then neither uncover these mounts nor clear
/// their flags (mount_namespaces(7)). All other mounts must not be locked, so a process in the user namespace attaches
/// them.

/// Returns the ids of mounts that a process in the user namespace attaches: all mounts, except external mounts that lie
/// on other external mounts.
[[nodiscard]] std::set<int> mountsToAttachInUserns(const MountTree& tree);

/// Directory of the mount staging in which the root of the namespace is attached.
inline constexpr const char* kPlaceWithin = "assembled";

struct UsernsMounts {
    UniqueFd space;
    UniqueFd root;
};

/// Attaches the mounts `within` in the user namespace `owner`. The root directory of the calling process must contain
/// each of these mounts under its id as the name, and an empty directory kPlaceWithin. `proc`: temporary proc file
/// system for /proc; may be empty.
[[nodiscard]] UsernsMounts attachInUserns(const UniqueFd& owner, const MountTree& tree, const std::set<int>& within,
                                          const UniqueFd& proc);

}  // namespace criu::namespaces
