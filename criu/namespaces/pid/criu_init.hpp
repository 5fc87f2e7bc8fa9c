// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/base/ids.hpp"
#include "criu/kernel/proc/proc_ns.hpp"

namespace criu::namespaces {

/// Finds out whether restore --new-pidns or criu-ns has created the tree's pid namespace: then the root's parent is a
/// namespace init or the restoring criu. If so, changes `criu` such that the tree counts as being in criu's namespaces.
/// Images of such a tree contain no pid namespace. If the tree is in the mount namespace of the parent, they contain no
/// mount namespace either. `parent`: parent of the root, which must be frozen. `tree`: namespaces of the root. Returns
/// true if the tree's mounts are a copy of criu's. Throws Error.
bool treatAsCriuNamespaces(HostPid parent, const kernel::NamespaceIds& tree, kernel::NamespaceIds& criu);

}  // namespace criu::namespaces
