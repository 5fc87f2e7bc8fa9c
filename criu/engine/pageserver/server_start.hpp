// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/engine/fwd.hpp"

namespace criu::engine {

/// Reports that clients can connect: notifies listeners, then writes one zero byte to --status-fd and closes it. Throws
/// Error.
void announceReady(Run& run);

/// Writes one zero byte to a descriptor and closes it; does nothing for -1. Throws Error.
void writeReady(int statusFd);

/// Makes a daemon: creates a child with a new session and without standard streams. The parent writes the pid file.
/// Returns true in the parent, which must end now, and false in the child. Throws Error.
[[nodiscard]] bool daemonize(const Run& run, const char* title);

}  // namespace criu::engine
