// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/engine/fwd.hpp"

namespace criu::engine {

/// Last phase of a restore: the processes run, and all resources created for them stay. The constructor throws Error
/// only before any process has run.
class RunningRestore {
public:
    explicit RunningRestore(ParkedRestore& parking);
    RunningRestore(const RunningRestore&) = delete;
    RunningRestore& operator=(const RunningRestore&) = delete;

    /// Waits for the end of the root, or until the user stops criu. A stop doesn't end the root. Returns criu's exit
    /// status: 0 whatever the root's status is, as CRIU 4.2 does; 1 after a stop.
    [[nodiscard]] int awaitRoot() const;

private:
    void reportDone() const;

    ParkedRestore& parked_;
};

}  // namespace criu::engine
