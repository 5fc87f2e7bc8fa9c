// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/engine/fwd.hpp"

namespace criu::engine {

/// Last phase of a restore: the processes run, and criu keeps all resources that it has created. The constructor throws
/// Error only before any process has run.
class RunningRestore {
public:
    explicit RunningRestore(ParkedRestore& parking);
    RunningRestore(const RunningRestore&) = delete;
    RunningRestore& operator=(const RunningRestore&) = delete;

    /// Waits until the root has ended, or until the user stops criu (this doesn't end the root). Returns criu's exit
    /// status: 1 after a stop, else 0. Like CRIU 4.2, returns 0 even if the root has failed.
    [[nodiscard]] int awaitRoot() const;

private:
    void reportDone() const;

    ParkedRestore& parked_;
};

}  // namespace criu::engine
