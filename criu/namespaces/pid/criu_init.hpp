// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/base/ids.hpp"
#include "criu/kernel/proc/proc_ns.hpp"

namespace criu::namespaces {

/// Changes `criu` such that the tree counts as being in criu's namespaces, if restore --new-pidns or criu-ns created
/// the tree's pid namespace. Then the root's parent is a namespace init or the restoring criu. Images of such a tree
/// contain no pid namespace. They contain no mount namespace if the tree is in that of the parent.
/// `parent`: parent of the root, which must be frozen. `tree`: namespaces of the root. Returns true if the tree's
/// mounts are a copy of criu's. Throws Error.
bool treatAsCriuNamespaces(HostPid parent, const kernel::NamespaceIds& tree, kernel::NamespaceIds& criu);

}  // namespace criu::namespaces
