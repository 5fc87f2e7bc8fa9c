// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <memory>
#include <vector>

namespace criu {
class StopRequest;
}

namespace criu::files {
class RingOwners;
}

namespace criu::engine {

class FrozenTree;
struct TaskRing;

/// Queries rings that only one thread may use (IORING_SETUP_SINGLE_ISSUER) in that thread. Stores the results in
/// FrozenTask::ringAnswers. Stores nothing if no thread of the process owns the ring. Injects code into processes, so
/// no other code may read their mappings during the call. Throws Error.
void askRingOwners(const std::vector<TaskRing>& rings, StopRequest& stop);

/// Returns access to the stored results. `tree` outlives the result.
[[nodiscard]] std::unique_ptr<files::RingOwners> makeRingOwners(const FrozenTree& tree);

}  // namespace criu::engine
