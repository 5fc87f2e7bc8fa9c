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

/// All of processes that have mapped a ring, as those do that let the kernel allocate its memory. Throws Error.
/// Whoever makes their threads ask about them relies on refuseUnsupported(): no filter of seccomp is in the way then.
[[nodiscard]] std::vector<TaskRing> findRings(FrozenTree& tree);

/// Waits for requests that are under way in a tree that stands still, such as reads of files: they end without their
/// process, but for what the kernel does for them in its threads, which these are let do meanwhile. Not for those that
/// wait for somebody (a connection, data): whoever dumps the ring refuses it then. The wait ends when nothing is under
/// way any more, when a second has brought nothing, or after ten.
///
/// To be called before anything of memory, or of positions in files, is looked at, which requests change. Throws Error.
void awaitRingRequests(const std::vector<TaskRing>& rings, StopRequest& stop, Log& log);

}  // namespace criu::engine
