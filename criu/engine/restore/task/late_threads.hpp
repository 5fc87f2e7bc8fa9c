// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/engine/fwd.hpp"

namespace criu::model {
class NestedPids;
}

namespace criu::engine {

/// Creates the late threads of a seized process that has entered its nested user namespace (model::Task::lateThreads),
/// in the order of `task`. The process has no privilege to choose their tids, so criu sets the next tid of each pid
/// namespace before the process creates a thread. The new threads are stopped before their first instruction.
///
/// The caller must have reserved room in process.threads(), because this function keeps references to its elements.
/// `area`: restorer of the process, whose data this function overwrites. Throws Error.
void createLateThreads(compel::FrozenProcess& process, const model::Task& task, const model::NestedPids& nested,
                       const PidMap& pids, const compel::InjectedMemory& area);

}  // namespace criu::engine
