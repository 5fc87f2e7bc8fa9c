// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/base/ids.hpp"

namespace criu::engine {

/// Throws Error unless a tree with this root can be dumped. The process must exist (else ESRCH). It must be a process,
/// not a thread, a zombie or a kernel thread. criu must not be in the tree, because it would freeze itself. Clients
/// search for the end of that last message.
void requireDumpableRoot(HostPid root);

}  // namespace criu::engine
