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

/// Asks kcmp(2) what threads don't share with the leader of their process, and notes it (FrozenTask::objects). Returns
/// one thread for each working directory that is not shared within its process. Throws Error for objects that a restore
/// can't keep apart. Shared I/O contexts are only warned of: each thread has its own afterwards, with the same
/// priority.
[[nodiscard]] std::vector<HostPid> findUnsharedThreads(FrozenTree& tree, const model::Options& options, Log& log);

}  // namespace criu::engine
