// SPDX-License-Identifier: GPL-2.0-only
#pragma once

namespace criu {
class Log;
}

namespace criu::engine {

class FrozenTree;

/// Warns of capabilities, users, groups and limits of the tree that a restore couldn't set if it had the capabilities
/// of this criu process.
void warnOfLackingRights(FrozenTree& tree, Log& log);

}  // namespace criu::engine
