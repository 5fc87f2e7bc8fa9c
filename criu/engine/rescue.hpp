// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <string>
#include <vector>

#include "criu/base/ids.hpp"
#include "criu/engine/local_channel.hpp"

namespace criu {
class Log;
}

/// Journals of dumps and pre-dumps in DIRECTORY/criu/journals (runtimeDirectories()). Each run has a directory with a
/// file. The run holds a lock on its directory, so that another criu recognizes the journal of a killed one.
namespace criu::engine {

/// Begins the journal of a dump of `root` in `log`. Only logs a failure, because a dump needs no journal.
void beginJournal(HostPid root, Log& log) noexcept;

/// Removes the journal of a run that has reverted all its changes, or has ended the tree.
void endJournal(Log& log) noexcept;

/// Reverts the changes in the journal of this run after its working process was killed, and removes the journal. Logs
/// the reverted changes.
void revertJournal(Log& log) noexcept;

/// Reverts the changes of all dumps in the caller's pid namespace that were killed. Puts a line for each reverted
/// change into `answer`. Doesn't touch changes of a running criu. Returns the exit status, which is 1 if a change
/// couldn't be reverted. Throws Error. `directories`: directories that may contain journals.
int rescue(std::string& answer, const std::vector<std::string>& directories = runtimeDirectories());

}  // namespace criu::engine
