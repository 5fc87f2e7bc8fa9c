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

    /// Waits for the end of the tree's first process, or until a stop is asked for. Returns what criu is to exit with:
    /// the status of that process, 128 + N if signal N has killed it.
    [[nodiscard]] int awaitRoot() const;

private:
    void reportDone() const;

    ParkedRestore& parked_;
};

}  // namespace criu::engine
