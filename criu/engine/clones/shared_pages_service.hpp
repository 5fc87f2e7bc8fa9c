// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/base/unique_fd.hpp"
#include "criu/engine/clones/shared_pages_daemon.hpp"

namespace criu::engine {

/// The work of a keeper of clones, until the last of them has ended. `watcher`: a socket to the process that is told of
/// all that is served, and whose end is the clones'. Returns an exit status; if it isn't 0, the clones were ended.
[[nodiscard]] int serveSharedPages(SharedPagesStart start, UniqueFd watcher);

}  // namespace criu::engine
