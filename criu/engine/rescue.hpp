// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "criu/base/ids.hpp"
#include "criu/engine/local_channel.hpp"

namespace criu {
class Log;
}

/// Journals of dumps, pre-dumps and restores in DIRECTORY/criu/journals (runtimeDirectories()). Each run has a
/// directory with a file. The run holds a lock on its directory, so that another criu recognizes the journal of a
/// killed one.
namespace criu::engine {

/// Begins the journal of a dump of `root` in `log`. Only logs a failure, because a dump needs no journal.
void beginJournal(HostPid root, Log& log) noexcept;

/// Removes the journal of a run that has reverted all its changes, or has ended the tree.
void endJournal(Log& log) noexcept;

/// Reverts the changes in the journal of this run after its working process was killed, and removes the journal. Logs
/// the reverted changes.
void revertJournal(Log& log) noexcept;

/// Journal of a restore. `criu rescue` completes the restore if its tree runs; otherwise it removes what the restore
/// has created. Only logs failures, because a restore needs no journal.
class RestoreJournal {
public:
    /// Begins the journal in `log`. `root`: directory of --root.
    RestoreJournal(const std::string& root, Log& log) noexcept;
    ~RestoreJournal();
    RestoreJournal(const RestoreJournal&) = delete;
    RestoreJournal& operator=(const RestoreJournal&) = delete;

    /// Removes the journal of a restore that has completed or reverted its changes.
    void end() noexcept;

private:
    Log& log_;
};

/// Adds the root of the restored tree to the journal. Throws Error if the process has ended.
void recordRestoredRoot(HostPid root, Log& log);
/// Adds the processes that criu is about to resume one after the other. Throws Error if a process has ended.
void recordResuming(const std::vector<HostPid>& processes, Log& log);
/// Memory of a restorer: a blob of the interpreter, and more memory after it.
struct RestorerRange {
    HostPid process;
    std::uint64_t start;
    std::uint64_t size;
};
/// Adds the restorers that stay in the processes if criu is killed after the commit.
void recordRestorers(const std::vector<RestorerRange>& all, Log& log) noexcept;

/// Reverts the changes of all dumps in the caller's pid namespace that were killed, and completes or reverts killed
/// restores. Puts a line for each change into `answer`. Doesn't touch changes of a running criu. Returns the exit
/// status, which is 1 if a change couldn't be reverted. Throws Error. `directories`: directories that may contain
/// journals.
int rescue(std::string& answer, Log& log, const std::vector<std::string>& directories = runtimeDirectories());

}  // namespace criu::engine
