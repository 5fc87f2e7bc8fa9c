// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <vector>

namespace criu {
class Log;
class StopRequest;
}  // namespace criu

namespace criu::engine {

struct FrozenTask;
class FrozenTree;

/// A descriptor of a ring of io_uring(7).
struct TaskRing {
    FrozenTask* task;
    int fd;
};

/// Returns the rings of all processes that have mapped a ring. Processes that let the kernel allocate ring memory have.
/// Queries of these rings rely on refuseUnsupported(): no seccomp filter can block them after it. Throws Error.
[[nodiscard]] std::vector<TaskRing> findRings(FrozenTree& tree);

/// Waits until requests of a frozen tree have ended, such as reads of files. They end without their process, except for
/// work that the kernel defers to the process' threads; this function makes the threads do it. Doesn't wait for
/// requests that need a peer, such as a connection; the dump of the ring refuses those. The wait ends when all requests
/// have ended, after a second without progress, or after ten seconds.
///
/// Call it before memory and file positions are read, because requests change them. Throws Error.
void awaitRingRequests(const std::vector<TaskRing>& rings, StopRequest& stop, Log& log);

}  // namespace criu::engine
