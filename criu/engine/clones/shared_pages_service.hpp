// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/base/unique_fd.hpp"
#include "criu/engine/clones/shared_pages_daemon.hpp"

namespace criu::engine {

/// Serves all clones until the last one has ended. `watcher` is a socket to the watchdog process, which gets all
/// descriptors that are served and kills the clones when this process fails. Returns an exit status; if it isn't 0, the
/// clones were killed.
[[nodiscard]] int serveSharedPages(SharedPagesStart start, UniqueFd watcher);

}  // namespace criu::engine
