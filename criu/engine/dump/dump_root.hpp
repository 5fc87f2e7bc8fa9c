// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/base/ids.hpp"

namespace criu::engine {

/// Throws Error unless a tree with this root can be dumped from here: there must be such a process (ESRCH), it must be
/// a process and not one of its threads, not a zombie, not of the kernel, and criu must not be below it, since whoever
/// dumps must not stand still. Clients look for the end of that last message.
void requireDumpableRoot(HostPid root);

}  // namespace criu::engine
