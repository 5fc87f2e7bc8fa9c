// SPDX-License-Identifier: GPL-2.0-only
#pragma once

namespace criu {
class Log;
}

namespace criu::engine {

class FrozenTree;

/// Warns of capabilities, users, groups and limits of the tree that this criu couldn't restore. A restore would need
/// more capabilities than this dump has.
void warnOfLackingRights(FrozenTree& tree, Log& log);

}  // namespace criu::engine
