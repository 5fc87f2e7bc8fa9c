// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <functional>

#include "criu/base/log.hpp"
#include "criu/base/stop_request.hpp"
#include "criu/base/unique_fd.hpp"
#include "criu/device/subsystem.hpp"
#include "criu/model/options.hpp"

namespace criu::engine {

/// What one command runs with. The current directory is the work directory (logs, pid file, statistics).
struct Run {
    const model::Options& options;
    Log& log;
    StopRequest& stop;
    const device::Subsystems& devices;
    UniqueFd imagesDir;  ///< open for reading, O_DIRECTORY
    /// Restore with options.orphanPtsMaster: takes the master of a pseudoterminal that was made because nobody in the
    /// tree has one. Called before the processes run; throws to have the restore fail.
    std::function<void(UniqueFd)> takeOrphanMaster = {};
};

/// Dumps the tree options.tree. Returns the exit status: 0, or that of a post-dump script that asked for the tree to
/// go on. Throws Error when the dump failed; then all tasks run as before.
int dump(Run& run);

/// Brings the tree of the images back. Without options.detached returns when its root has ended. With
/// options.execCommand it returns with the tree running as this process' children. Returns the exit status; throws
/// Error when nothing was left behind.
int restore(Run& run);

/// Writes down what this machine's processor offers.
void dumpCpuInfo(Run& run);

/// Compares it with what was written down, as options.cpuCaps says (all of it if that is empty). Throws Error if
/// something is missing here.
void checkCpuInfo(Run& run);

}  // namespace criu::engine
