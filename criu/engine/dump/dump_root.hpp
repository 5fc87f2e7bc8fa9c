// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/base/ids.hpp"

namespace criu::engine {

/// Throws Error if criu can't dump a tree with this root. The process must exist (else ESRCH). It must not be a thread,
/// a zombie or a kernel thread. criu must not be in the tree, because it would freeze itself; clients search for the
/// end of this message.
void requireDumpableRoot(HostPid root);

}  // namespace criu::engine
