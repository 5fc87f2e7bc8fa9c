// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "criu/base/journal.hpp"
#include "criu/base/names.hpp"
#include "criu/base/unique_fd.hpp"
#include "criu/engine/injected_memory.hpp"
#include "criu/kernel/proc/procdir.hpp"

namespace criu {
class Log;
}

namespace criu::engine {

/// Process that a journal names. The start time distinguishes it from a later process with the same pid.
struct JournalProcess {
    pid_t pid = 0;
    std::uint64_t startTime = 0;  ///< in clock ticks since boot, as in /proc/PID/stat

    /// Reads pid and start time of a journal. Throws Error.
    static JournalProcess of(const std::string& pid, const std::string& startTime);
    /// Opens the directory of the process in /proc. Returns nothing if the process has ended, or has a pending SIGKILL.
    [[nodiscard]] std::optional<kernel::ProcPid> openRunning() const;
    /// Waits a moment for the end of the process. A process that has taken SIGKILL from its queue, and hasn't begun its
    /// exit, looks like a running process.
    void waitEnd() const;
};

/// Reverts changes of one journal. Checks each object before, because the journal contains names, and a name may now
/// refer to another object. The functions throw Error.
class JournalReverter {
public:
    /// Function that takes a line for the user about a reverted change.
    using Report = std::function<void(const std::string&)>;

    /// `root`: root of the tree; nothing if criu was killed before it created the root.
    JournalReverter(const std::optional<JournalProcess>& root, Report report, Log& log);

    [[nodiscard]] bool treeRuns() const noexcept { return running_.has_value(); }

    /// Removes the temporary link of a line "link".
    void removeLink(const JournalLine& line) const;
    /// Thaws the cgroup of a line "freeze".
    void thaw(const JournalLine& line) const;
    /// Freezes the cgroup of a line "thaw" or "freezes".
    void freeze(const JournalLine& line) const;
    /// Removes the nftables table of a line "table".
    void removeTable(const JournalLine& line) const;
    /// Removes the network lock of a line "lock" or "rules" and the lines "connection" after it.
    void removeLock(std::span<const JournalLine> lines) const;
    /// Removes the file of a line "creating" or "name". `restoreRoot`: directory of --root. `begin`: time of the
    /// journal in seconds since 1970; a file that criu may have created isn't older.
    void removeName(const JournalLine& line, const std::string& restoreRoot, std::uint64_t begin) const;
    /// Removes the cgroup of a line "group". If the line has no inode, criu may have created the cgroup.
    void removeGroup(const JournalLine& line) const;
    /// Removes the System V shared memory of a line "segment". `begin`: see removeName().
    void removeSegment(const JournalLine& line, std::uint64_t begin) const;
    /// Unmaps memory in the process of a line "injects" (unmapInjection()).
    void unmapMemory(const JournalLine& line) const;
    /// Unmaps the restorers of a line "restorers" (unmapRestorer()).
    void unmapRestorers(const JournalLine& line) const;
    /// Moves the device of a line "moved" back to the network namespace of the caller. `folder`: of the journal.
    void returnDevice(const JournalLine& line, int folder) const;
    /// Ends repair mode of all TCP sockets of the tree. `lines`: journal; sockets in its lines "options" get their
    /// options again.
    void endRepairs(const std::vector<JournalLine>& lines) const;
    /// Gives the terminal of a line "terminal" without end its settings again.
    void restoreTerminal(const std::vector<JournalLine>& lines) const;
    /// Kills the processes of a line "resuming" if some of them have ended. Returns false if all of them run.
    bool endHalfTree(const JournalLine& line);

private:
    [[nodiscard]] UniqueFd openInRoot(const std::string& folder) const;
    void removeOwnTable(const std::string& table) const;
    /// Calls `work` in a network namespace. Returns false if no process leads to the namespace.
    bool inNetwork(std::uint32_t network, const std::function<void()>& work) const;

    std::optional<kernel::ProcPid> running_;
    pid_t root_ = 0;
    RescueDeadline end_ = rescueDeadline();
    Report report_;
    Log& log_;
};

}  // namespace criu::engine
