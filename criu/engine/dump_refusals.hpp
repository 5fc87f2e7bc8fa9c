// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/engine/frozen_tree.hpp"
#include "criu/model/options.hpp"

namespace criu::engine {

/// Refuses processes that can't be dumped: Error says which, why, and what to do about it where something can be done.
/// Notes of each process whether it is a 32-bit one (FrozenTask::compat), and whose labels it has. Changes nothing.
/// `module`: whose labels this kernel shows, task::labelModule().
void refuseUnsupported(FrozenTree& tree, const model::Options& options, task::LabelModule module);

}  // namespace criu::engine
