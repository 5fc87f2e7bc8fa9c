// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>

#include "criu/engine/fwd.hpp"
#include "criu/engine/restore/resumed_tree.hpp"

namespace criu::engine {

/// Shows how much memory and device contents are filled, until the caller destroys the returned object.
[[nodiscard]] std::unique_ptr<Progress> showProgress(const BornRestore& born);

/// Fourth phase of a restore: every process is parked and seized, and the coordinator has done the work that needs a
/// tracer. No code of the tree has run yet. The constructor waits for the processes. It throws Error if a process
/// fails, or if the user stops criu.
class ParkedRestore {
public:
    explicit ParkedRestore(BornRestore& birth);
    ~ParkedRestore();
    ParkedRestore(const ParkedRestore&) = delete;
    ParkedRestore& operator=(const ParkedRestore&) = delete;

    PlannedRestore& planned;
    PreparedRestore& prepared;
    BornRestore& born;

private:
    std::unique_ptr<Progress> progress_;  ///< progress of filling memory; null when all processes are parked

public:
    std::uint64_t sharedBytes;          ///< bytes of shared memory that were filled
    std::chrono::microseconds forking;  ///< time from the birth of the root until all processes were parked
    ResumedTree tree;
};

}  // namespace criu::engine
