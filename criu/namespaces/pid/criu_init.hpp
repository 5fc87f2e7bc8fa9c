// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/base/ids.hpp"
#include "criu/kernel/proc/proc_ns.hpp"

namespace criu::namespaces {

/// Replaces entries of `criu` by the tree's if restore --new-pidns or criu-ns created the tree's pid namespace. Images
/// of such a tree have no pid namespace, nor a mount namespace if the tree is in that of its init. The root's parent is
/// then an init of criu or the restoring criu. `parent` and `tree`: of the root, which is frozen. Returns true if the
/// tree's mounts are a copy of criu's. Throws Error.
bool treatAsCriuNamespaces(HostPid parent, const kernel::NamespaceIds& tree, kernel::NamespaceIds& criu);

}  // namespace criu::namespaces
