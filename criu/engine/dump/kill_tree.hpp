// SPDX-License-Identifier: GPL-2.0-only
#pragma once

namespace criu {
class Log;
}

namespace criu::engine {

class FrozenTree;

/// Ends all processes of a tree that stands still. Returns whether the root, and with it whoever is in its pid
/// namespace, ends only when the calling process does, which traces it. The first process of a pid namespace that
/// others keep from ending is left to itself, with a warning.
[[nodiscard]] bool killTree(FrozenTree& tree, Log& log);

}  // namespace criu::engine
