// SPDX-License-Identifier: GPL-2.0-only
#pragma once

namespace criu::model {
struct ProcessTree;
}

namespace criu::engine {

class PidMap;
class RestoreControl;

/// Throws Error if a process that has been created and is to be alive has died while it was restored. Refreshes `pids`.
void checkAlive(const model::ProcessTree& tree, const RestoreControl& control, PidMap& pids);

}  // namespace criu::engine
