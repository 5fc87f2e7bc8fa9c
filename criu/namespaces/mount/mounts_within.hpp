// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <set>

#include "criu/base/unique_fd.hpp"
#include "criu/namespaces/mount/mount_tree.hpp"

namespace criu::namespaces {

/// The mounts of a namespace that belongs to a user namespace below that of who restores it. What came from outside
/// comes through a copy that the kernel makes for the user namespace: those who have rights there can't take off what
/// covers something else, nor allow what a mount forbids (mount_namespaces(7)). All else is put together by a process
/// that has entered it, and is its own.

/// The mounts that this process puts into their places: all but those from outside that lie on others from outside.
[[nodiscard]] std::set<int> mountsToAttachInUserns(const MountTree& tree);

/// A directory of the yard for the root.
inline constexpr const char* kPlaceWithin = "assembled";

struct UsernsMounts {
    UniqueFd space;
    UniqueFd root;
};

/// The root of the calling process is a yard with each mount of `within` by its number, and what is to stay on it, and
/// an empty directory kPlaceWithin. `owner`: the user namespace. `proc`: for the time of a restore; may be none.
[[nodiscard]] UsernsMounts attachInUserns(const UniqueFd& owner, const MountTree& tree, const std::set<int>& within,
                                          const UniqueFd& proc);

}  // namespace criu::namespaces
