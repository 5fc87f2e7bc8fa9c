// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>

#include "criu/engine/fwd.hpp"
#include "criu/engine/restore/resumed_tree.hpp"

namespace criu::engine {

/// Shows progress of filled memory and device contents, until the returned object is destroyed.
[[nodiscard]] std::unique_ptr<Progress> showProgress(const BornRestore& born);

/// Fourth phase of a restore. Every process has run its program and is parked, then seized. The coordinator has done
/// the steps that need a tracer. No code of the tree has run yet. The constructor waits for the processes. It throws
/// Error if one of them fails, or the user stops criu.
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
    std::unique_ptr<Progress> progress_;  ///< display of filled memory; null when all processes are parked

public:
    std::uint64_t sharedBytes;          ///< bytes of shared memory that were filled
    std::chrono::microseconds forking;  ///< time from the birth of the root until all processes were parked
    ResumedTree tree;
};

}  // namespace criu::engine
