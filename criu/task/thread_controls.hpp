// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/image/arena.hpp"
#include "criu/pie/program_builder.hpp"
#include "images/core.fwd.hpp"

/// Functions for processor settings of a thread by prctl(2) (time stamp counter, speculation, machine checks), for its
/// NUMA memory policy, and for its personality.
namespace criu::task {

/// Query of the processor settings, the NUMA memory policy and the personality of one thread.
class ThreadControlsQuery {
public:
    ThreadControlsQuery(pie::StepList& steps, pie::RemoteData& data);
    void store(pie::RemoteData& answers, ThreadCoreEntry& core, Arena& arena) const;
    [[nodiscard]] std::uint32_t personality(pie::RemoteData& answers) const;

private:
    std::uint64_t timestampsAt_;
    std::uint64_t machineCheckAt_;
    std::uint64_t speculationAt_;
    std::uint64_t memoryPolicyAt_;
    std::uint64_t memoryNodesAt_;
    std::uint64_t personalityAt_;
};

/// Adds steps that the thread itself runs.
void restoreThreadControls(const ThreadCoreEntry& core, pie::StepList& steps, pie::RemoteData& data);

}  // namespace criu::task
