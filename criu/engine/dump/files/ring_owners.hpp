// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <memory>
#include <vector>

namespace criu {
class Journal;
class StopRequest;
}  // namespace criu

namespace criu::files {
class RingOwners;
}

namespace criu::engine {

class FrozenTree;
struct TaskRing;

/// Queries the rings that have a ring owner (IORING_SETUP_SINGLE_ISSUER), by system calls that criu makes in this
/// owner. Stores the results in FrozenTask::ringAnswers. Stores no result if the ring owner is in another process.
/// Injects code into processes, so no other code of criu may read their mappings during the call. Throws Error.
/// `journal`: gets the process before each injection.
void askRingOwners(const std::vector<TaskRing>& rings, StopRequest& stop, Journal& journal);

/// Returns an object that reads the results from FrozenTask::ringAnswers. `tree` must outlive this object.
[[nodiscard]] std::unique_ptr<files::RingOwners> makeRingOwners(const FrozenTree& tree);

}  // namespace criu::engine
