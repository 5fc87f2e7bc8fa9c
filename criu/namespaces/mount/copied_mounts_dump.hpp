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

/// Where paths of a tree begin that restore --new-pidns has put into a copy of criu's mount namespace (mount_copied).
/// What it has mounted there since isn't dumped: the log warns of each such mount. `process` is of that tree. Throws
/// Error.
[[nodiscard]] files::TreeRoot rootOfCopiedMounts(const kernel::ProcPid& process, Log& log);

}  // namespace criu::namespaces
