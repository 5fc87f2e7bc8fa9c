// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <vector>

#include "criu/base/ids.hpp"
#include "criu/base/journal.hpp"
#include "criu/kernel/terminal.hpp"

/// Settings of a pseudoterminal that a dump changes while criu itself reads the waiting bytes. The journal contains
/// them, so that a killed dump can be reverted.
namespace criu::tty {

/// Descriptor of a dumped process, which names a pseudoterminal.
struct RecordedMaster {
    HostPid process;
    std::uint64_t startTime = 0;  ///< start of the process in clock ticks since boot
    int fd = -1;                  ///< number of the descriptor in the process
    unsigned number = 0;          ///< N of /dev/pts/N
};

/// Adds a line "terminal" to the journal. Call it before the change. `line`: line settings.
void recordTerminal(const RecordedMaster& master, bool packets, const kernel::LineSettings& line,
                    const kernel::LineSettings& locked, Journal& journal) noexcept;

/// Records that the terminal of the last line "terminal" has its settings again.
void recordTerminalEnd(Journal& journal) noexcept;

/// Returns the line "terminal" of a change that hasn't ended; null if there is none.
[[nodiscard]] const JournalLine* recordedTerminal(const std::vector<JournalLine>& lines);

/// Sets packet mode, line settings and locked settings of a line "terminal" again, each of them only if the terminal
/// has the value that criu sets. Returns false if nothing had to change, if the process has ended or doesn't have this
/// terminal any more, or if the terminal was hung up. Throws Error for a damaged line.
bool restoreTerminal(const JournalLine& line);

}  // namespace criu::tty
