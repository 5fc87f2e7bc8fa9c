// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/engine/dump/frozen_tree.hpp"
#include "criu/model/options.hpp"

namespace criu {
class Log;
class Refusals;
}  // namespace criu

namespace criu::device {
class DumpDevices;
}

namespace criu::engine {

/// Throws Error if criu can't dump a process. The message names the process, the reason, and a remedy. Sets
/// FrozenTask::compat, FrozenTask::labels and FrozenTask::objects. Changes nothing in the tree. `module`: security
/// module whose labels this kernel shows (task::labelModule()). Returns false if it has collected a refusal of a
/// process that injected code could harm.
bool refuseUnsupported(FrozenTree& tree, const model::Options& options, task::LabelModule module, Log& log,
                       Refusals& refusals);

/// Refuses a tree that has nested pid namespaces and uses devices. Throws Error. Call it each time after criu may have
/// found more devices: before the checkpoint of devices, after the dump of open files, and after plugins have dumped
/// their files.
void refuseNestedDevices(FrozenTree& tree, const device::DumpDevices& devices);

}  // namespace criu::engine
