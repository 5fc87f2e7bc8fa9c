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
    /// Descriptor of the directory's supply (ImageDir::supplyDescriptor()), until the content is open. A memory
    /// provider waits for the end of all its copies.
    UniqueFd supply{};
};

/// Returns true if a shared-pages daemon keeps this log, because the log is a file. It doesn't keep a terminal or a
/// pipe, whose reader would wait for the end of the daemon.
[[nodiscard]] bool keepsLog(const Log& log) noexcept;

/// Runs the shared-pages daemon, which serves the memory of all clones of one dump. The daemon owns the shared-pages
/// file that clones map. It reads content from the images once, and resolves the first fault on each page. The daemon
/// ends with the last clone.
///
/// The daemon consists of two processes: one serves faults, and the watchdog process waits for the end of the first
/// one. The watchdog process holds copies of the descriptors. If the daemon fails or is killed, the watchdog process
/// kills the clones. Otherwise, memory that a clone had released would show old pages of the file.
///
/// Call this function in a new child of a restore.
[[noreturn]] void runSharedPagesDaemon(SharedPagesStart start);

}  // namespace criu::engine
