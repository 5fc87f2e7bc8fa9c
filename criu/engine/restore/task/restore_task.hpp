// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/base/ids.hpp"

namespace criu::engine {
struct RestoreRun;
}

namespace criu::engine {

/// Creates the root of the tree, in new namespaces, where it waits for RestoreControl::openGate(); then it creates its
/// children, and so on. Returns in the master only. `asSibling`: it becomes a child of the
/// master's parent.
HostPid createRoot(RestoreRun& run, bool asSibling);

}  // namespace criu::engine
