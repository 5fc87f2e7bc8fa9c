// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/base/unique_fd.hpp"
#include "criu/namespaces/mount/mount_tree.hpp"

namespace criu::namespaces {

/// Returns true if the tree has no complete and writable proc file system on /proc. The restore needs one.
[[nodiscard]] bool lacksProc(const MountTree& tree);

/// Mounts a proc file system for the time of the restore if the tree lacks one. criu's /proc must be visible: in a user
/// namespace, the kernel permits a proc mount only if another proc mount is fully visible (mount_too_revealing()).
[[nodiscard]] UniqueFd makeProcMount(const MountTree& tree);

/// Attaches the result of makeProcMount() to /proc. Does nothing without a mount.
void addProc(const UniqueFd& proc);

/// Creates a temporary directory /proc in the root of a namespace that lacks one. Preserves the timestamps of the root.
/// removeProcDirectory() removes the directory later, in another process.
void makeProcDirectory(int root);

/// Removes the directory /proc, and makes the root read-only if `mount` is. The calling thread must be in the
/// namespace, and no mount may be on /proc.
void removeProcDirectory(const Mount& mount);

}  // namespace criu::namespaces
