// SPDX-License-Identifier: GPL-2.0-only
#pragma once

namespace criu::engine {
class ParkedRestore;
}

namespace criu::engine {

/// The last phase of a restore: the processes run, and everything that was made for them stays. The constructor throws
/// Error as long as none of them has run.
class RunningRestore {
public:
    explicit RunningRestore(ParkedRestore& parking);
    RunningRestore(const RunningRestore&) = delete;
    RunningRestore& operator=(const RunningRestore&) = delete;

    /// Waits for the end of the tree's first process, or until a stop is asked for, which ends the wait only. Returns
    /// what criu is to exit with: 0 whatever the process ended with, as CRIU 4.2 does; 1 after a stop.
    [[nodiscard]] int awaitRoot() const;

private:
    void reportDone() const;

    ParkedRestore& parked_;
};

}  // namespace criu::engine
