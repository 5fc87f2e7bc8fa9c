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

/// Of rings that answer one thread only (IORING_SETUP_SINGLE_ISSUER), has that thread ask what is to be known, and
/// notes it in its process (FrozenTask::ringAnswers). Nothing is noted where no thread of the process that has the ring
/// is the one. Code is put into processes for a moment: nobody may look at their mappings meanwhile. Throws Error.
void askRingOwners(const std::vector<TaskRing>& rings, StopRequest& stop);

/// What has been noted. `tree` outlives the result.
[[nodiscard]] std::unique_ptr<files::RingOwners> makeRingOwners(const FrozenTree& tree);

}  // namespace criu::engine
