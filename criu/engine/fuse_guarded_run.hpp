// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/types.h>

#include <functional>
#include <set>

namespace criu::engine {

class FrozenPhase;
class Rollback;

/// Userspace and remote file systems of the tree, and the rollback that runs if one of them doesn't reply.
struct GuardedFiles {
    std::set<dev_t> devices;  ///< device numbers of these file systems
    Rollback& rollback;       ///< steps that the filesystem watchdog runs before it ends the working process
};

/// Calls `work` for a frozen tree and returns its result. First checks that the client may dump the tree, and that file
/// systems of the tree reply.
///
/// If the tree uses userspace or remote file systems, `work` runs in a thread beside the tracer, under a
/// FilesystemWatchdog. The watchdog may end this process. Throws Error.
int runFuseGuarded(FrozenPhase& frozen, const std::function<int(const GuardedFiles& files)>& work);

}  // namespace criu::engine
