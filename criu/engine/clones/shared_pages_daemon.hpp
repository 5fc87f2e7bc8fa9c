// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/base/unique_fd.hpp"
#include "criu/engine/fwd.hpp"

namespace criu::engine {

/// Inputs of a shared-pages daemon.
struct SharedPagesStart {
    UniqueFd listener;  ///< socket that restores connect to
    UniqueFd client;    ///< connection of the restore that started the daemon
    const RestoreImages& images;
    const ImageDir& directory;
    StopRequest& stop;
    Log& log;
};

/// Runs the shared-pages daemon, which serves the memory of all clones of one dump. The daemon owns the shared-pages
/// file that clones map. It reads content from the images once, and resolves the first fault on each page. The daemon
/// ends with the last clone. If it fails or is killed, the clones are killed, too: without it, the kernel would show
/// pages of the file in memory that a clone has released.
///
/// The daemon consists of two processes, like a lazy-pages daemon. One serves faults. The watchdog process holds the
/// same descriptors and waits for the end of the first. Call this in a new child of a restore. It keeps the images, and
/// the log if that is a file.
[[noreturn]] void runSharedPagesDaemon(SharedPagesStart start);

}  // namespace criu::engine
