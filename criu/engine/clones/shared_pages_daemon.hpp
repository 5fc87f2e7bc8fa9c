// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/base/unique_fd.hpp"
#include "criu/engine/fwd.hpp"
#include "criu/engine/local_channel.hpp"

namespace criu::engine {

/// Inputs of a shared-pages daemon.
struct SharedPagesStart {
    DaemonPlace place;  ///< socket that restores connect to
    UniqueFd client;    ///< connection of the restore that started the daemon
    const RestoreImages& images;
    const ImageDir& directory;
    StopRequest& stop;
    Log& log;
};

/// Runs the shared-pages daemon, which serves the memory of all clones of one dump. The daemon owns the shared-pages
/// file that clones map. It reads content from the images once, and resolves the first fault on each page. The daemon
/// ends with the last clone. If the daemon fails or is killed, its watchdog process kills the clones. Without the
/// daemon, the kernel would show old pages of the file in memory that a clone has released.
///
/// The daemon consists of two processes. The first serves faults. The watchdog process holds copies of the descriptors,
/// and waits for the end of the first. Call this function in a new child of a restore.
[[noreturn]] void runSharedPagesDaemon(SharedPagesStart start);

}  // namespace criu::engine
