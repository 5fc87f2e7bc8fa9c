// SPDX-License-Identifier: GPL-2.0-only
#pragma once

namespace criu::model {
struct ProcessTree;
}

namespace criu::engine {

class PidMap;
class RestoreControl;

/// Throws Error if a created process that must be alive has died during its restore. Refreshes `pids`.
void checkAlive(const model::ProcessTree& tree, const RestoreControl& control, PidMap& pids);

}  // namespace criu::engine
