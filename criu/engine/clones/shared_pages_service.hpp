// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/base/unique_fd.hpp"
#include "criu/engine/clones/shared_pages_daemon.hpp"

namespace criu::engine {

/// Serves all clones until the last one has ended. Returns an exit status; before it returns a status other than 0, it
/// kills all clones. `watcher`: socket to the watchdog process, which gets copies of all descriptors and kills the
/// clones if this process fails.
[[nodiscard]] int serveSharedPages(SharedPagesStart start, UniqueFd watcher);

}  // namespace criu::engine
