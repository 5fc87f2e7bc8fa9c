// SPDX-License-Identifier: GPL-2.0-only
#pragma once

namespace criu {
class Log;
}

namespace criu::engine {

class FrozenTree;

/// Kills all processes of a frozen tree. Returns true if the root is init of criu's pid namespace: then the root, and
/// all processes of that namespace, end only when the calling process, their tracer, ends. Warns if init of a pid
/// namespace can't end yet, and doesn't wait for it.
[[nodiscard]] bool killTree(FrozenTree& tree, Log& log);

}  // namespace criu::engine
