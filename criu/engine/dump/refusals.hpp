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

/// Refuses processes that can't be dumped. Error names the process, the reason and a remedy if there is one. Sets
/// FrozenTask::compat, FrozenTask::labels and FrozenTask::objects. Changes nothing in the tree. `module` is the
/// security module whose labels this kernel shows (task::labelModule()).
void refuseUnsupported(FrozenTree& tree, const model::Options& options, task::LabelModule module, Log& log);

/// Refuses a tree that has nested pid namespaces and uses devices. Call it whenever more is known about devices: before
/// the checkpoint of devices, after open files were collected, and when plugins have dumped the rest. Throws Error.
void refuseNestedDevices(FrozenTree& tree, const device::DumpDevices& devices);

}  // namespace criu::engine
