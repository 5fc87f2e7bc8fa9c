// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/image/arena.hpp"
#include "criu/pie/program_builder.hpp"
#include "images/core.fwd.hpp"

/// What a thread has set for itself with prctl(2) about the processor: forbidden time stamps, speculation, machine
/// checks.
namespace criu::task {

/// Asks one thread.
class ThreadControlsQuery {
public:
    ThreadControlsQuery(pie::StepList& steps, pie::RemoteData& data);
    void store(pie::RemoteData& answers, ThreadCoreEntry& core, Arena& arena) const;

private:
    std::uint64_t timestampsAt_;
    std::uint64_t machineCheckAt_;
    std::uint64_t speculationAt_;
    std::uint64_t memoryPolicyAt_;
    std::uint64_t memoryNodesAt_;
};

/// Steps of the thread itself.
void restoreThreadControls(const ThreadCoreEntry& core, pie::StepList& steps, pie::RemoteData& data);

}  // namespace criu::task
