// SPDX-License-Identifier: GPL-2.0-only
#pragma once

namespace criu {
class Log;
}

namespace criu::engine {

class FrozenTree;

/// Warns of what processes of a tree have and this criu couldn't give them again: capabilities, users and groups,
/// limits. A restore would fail for lack of rights, unless it has more than this dump.
void warnOfLackingRights(FrozenTree& tree, Log& log);

}  // namespace criu::engine
