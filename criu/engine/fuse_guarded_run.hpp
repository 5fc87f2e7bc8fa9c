// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/types.h>

#include <functional>
#include <set>

namespace criu::engine {

class FrozenPhase;
class Rollback;

/// File systems of the tree, as far as work on the tree needs them.
struct GuardedFiles {
    std::set<dev_t> devices;  ///< userspace and remote file systems
    Rollback& rollback;       ///< steps that must run even if a file system doesn't reply
};

/// Does `work` on a frozen tree and returns its result. First checks that the client may have the tree dumped, and that
/// file systems of the tree reply.
///
/// If the tree uses userspace or remote file systems, `work` runs beside the tracer and under a FilesystemWatchdog. The
/// watchdog may end this process while `work` runs. Throws Error.
int runFuseGuarded(FrozenPhase& frozen, const std::function<int(const GuardedFiles& files)>& work);

}  // namespace criu::engine
