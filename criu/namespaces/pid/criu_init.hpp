// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/base/ids.hpp"
#include "criu/kernel/proc/proc_ns.hpp"

namespace criu::namespaces {

/// A tree that restore --new-pidns or criu-ns has given a pid namespace has none to be dumped, nor mounts if it has
/// those of its init, since images never had them: its root is the child of an init of criu's, or of the criu that has
/// restored it. Such a tree counts as being where criu is: the namespaces of `criu` become those of the tree in these
/// kinds. `parent` and `tree`: of the root, which stands still. Returns whether its mounts are a copy of criu's. Throws
/// Error.
bool treatAsCriuNamespaces(HostPid parent, const kernel::NamespaceIds& tree, kernel::NamespaceIds& criu);

}  // namespace criu::namespaces
