// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/files/tree_root.hpp"

namespace criu {
class Log;
}

namespace criu::kernel {
class ProcPid;
}

namespace criu::namespaces {

/// Returns the root of a tree in a copy of criu's mount namespace, which restore --new-pidns created (mount_copied).
/// The dump doesn't contain mounts that the tree has made since, and logs a warning for each. `process`: any process of
/// the tree. Throws Error.
[[nodiscard]] files::TreeRoot rootOfCopiedMounts(const kernel::ProcPid& process, Log& log);

}  // namespace criu::namespaces
