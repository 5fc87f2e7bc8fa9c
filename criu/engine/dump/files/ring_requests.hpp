// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <vector>

namespace criu {
class Log;
class StopRequest;
}  // namespace criu

namespace criu::kernel {
struct IoUringInfo;
}

namespace criu::engine {

struct FrozenTask;
class FrozenTree;

/// Descriptor of a ring (io_uring(7)) in one process.
struct TaskRing {
    FrozenTask* task;
    int fd;
};

/// Returns the ring descriptors of all processes that have mapped a ring. Call it after refuseUnsupported(): a seccomp
/// filter could block queries of rings, and refuseUnsupported() refuses processes with such filters. Throws Error.
[[nodiscard]] std::vector<TaskRing> findRings(FrozenTree& tree);

/// Reads the state of a ring. Repeats this for a second if the kernel shows none, because a kernel thread may submit
/// requests of the ring. Throws Error.
[[nodiscard]] kernel::IoUringInfo readRing(const TaskRing& ring);

/// Waits until ring requests of a frozen tree have ended, such as reads of files. Makes the threads run the work that
/// the kernel defers to them. Doesn't wait for requests that wait for a peer; the dump of the ring refuses these.
/// Returns after a second without progress, and after ten seconds at the latest.
///
/// Call it before the dump reads memory and file positions, because requests change both. Throws Error.
void awaitRingRequests(const std::vector<TaskRing>& rings, StopRequest& stop, Log& log);

}  // namespace criu::engine
