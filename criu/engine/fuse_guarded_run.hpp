// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/types.h>

#include <functional>
#include <set>

namespace criu::engine {

class FrozenPhase;
class Rollback;

/// What work with a tree has to know of the file systems that the tree uses.
struct GuardedFiles {
    std::set<dev_t> devices;  ///< of those for which somebody answers
    Rollback& rollback;       ///< gets what has to be put back even if one of them doesn't answer
};

/// Does `work` with a tree that stands still, and returns what it returns. Before anything else is asked: who may have
/// the tree dumped, and whether its files can answer.
///
/// If the tree uses file systems for which somebody answers (UserspaceFilesystems), `work` is done beside the thread
/// that traces and under an FilesystemWatchdog: this process may then end in the midst of it. Throws Error.
int runFuseGuarded(FrozenPhase& frozen, const std::function<int(const GuardedFiles& files)>& work);

}  // namespace criu::engine
