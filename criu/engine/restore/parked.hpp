// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>

#include "criu/engine/restore/resumed_tree.hpp"

namespace criu::engine {
class BornRestore;
class Progress;

/// The line that says how much of memory, and of contents of devices, is filled; as long as it exists.
[[nodiscard]] std::unique_ptr<Progress> showProgress(const BornRestore& born);

/// The fourth phase of a restore: every process has become what it was, as far as it can do that itself, and stands
/// still; the master has done from outside what only it can do. Nothing of the tree has run yet. The constructor waits
/// for the processes; it throws Error if one of them fails, or a stop is asked for.
class ParkedRestore {
public:
    explicit ParkedRestore(BornRestore& birth);
    ~ParkedRestore();
    ParkedRestore(const ParkedRestore&) = delete;
    ParkedRestore& operator=(const ParkedRestore&) = delete;

    BornRestore& born;

private:
    std::unique_ptr<Progress> progress_;  ///< while memory is filled

public:
    std::uint64_t sharedBytes;          ///< of shared memory that were filled
    std::chrono::microseconds forking;  ///< from the birth of the first process until all stood still
    ResumedTree tree;
};

}  // namespace criu::engine
