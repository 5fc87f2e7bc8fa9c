// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/types.h>

#include <vector>

#include "criu/base/ids.hpp"
#include "criu/engine/fwd.hpp"
#include "images/eventpoll.fwd.hpp"

namespace criu::engine {

/// Ring among the targets of an epoll file.
struct WatchedRing {
    FileId ring;
    const EventpollTfdEntry* target;
    pid_t holder;  ///< process that has the epoll file; the pid is that of criu's pid namespace
    int epoll;     ///< descriptor of the epoll file in this process
};

/// Returns the targets of the tree's epoll files that may be rings. The processes must have all their descriptors.
/// Throws Error if a ring is the target of an epoll file of which no process has a descriptor.
[[nodiscard]] std::vector<WatchedRing> watchedRings(const RestoreRun& run, const PidMap& pids);

}  // namespace criu::engine
