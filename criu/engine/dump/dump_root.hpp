// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/base/ids.hpp"

namespace criu::engine {

/// Throws Error if criu can't dump a tree with this root. The process must exist (else ESRCH). It must not be a thread,
/// a zombie or a kernel thread. criu must not be in the tree, because criu would freeze itself. Keep the end of this
/// last message: client programs search for it.
void requireDumpableRoot(HostPid root);

}  // namespace criu::engine
