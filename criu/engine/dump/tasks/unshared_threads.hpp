// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <vector>

#include "criu/base/ids.hpp"

namespace criu {
class Log;
}

namespace criu::model {
struct Options;
}

namespace criu::engine {

class FrozenTree;

/// Finds by kcmp(2) the objects that threads don't share with their main thread, and stores them in
/// FrozenTask::objects. Returns one thread for each distinct working directory of a process. Throws Error for objects
/// that a restore can't separate. Only warns of shared I/O contexts: after a restore, each thread has a private I/O
/// context with the same priority.
[[nodiscard]] std::vector<HostPid> findUnsharedThreads(FrozenTree& tree, const model::Options& options, Log& log);

}  // namespace criu::engine
