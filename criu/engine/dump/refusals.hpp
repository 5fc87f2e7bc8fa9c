// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/engine/dump/frozen_tree.hpp"
#include "criu/model/options.hpp"

namespace criu {
class Log;
}

namespace criu::device {
class DumpDevices;
}

namespace criu::engine {

/// Refuses processes that can't be dumped: Error says which, why, and what to do about it where something can be done.
/// Notes of each process whether it is a 32-bit one (FrozenTask::compat), whose labels it has, and what its threads
/// don't share (FrozenTask::objects). Changes nothing. `module`: whose labels this kernel shows, task::labelModule().
void refuseUnsupported(FrozenTree& tree, const model::Options& options, task::LabelModule module, Log& log);

/// Refuses a tree that has pid namespaces below its own and uses devices. To be called whenever more is known of the
/// latter: who will be checkpointed is known before that is done, what files are open when these have been looked at,
/// and what a plugin has of the rest only at the end. Throws Error.
void refuseNestedDevices(FrozenTree& tree, const device::DumpDevices& devices);

}  // namespace criu::engine
