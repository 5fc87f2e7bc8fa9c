// SPDX-License-Identifier: GPL-2.0-only
#pragma once

namespace criu {
class Log;
}

namespace criu::engine {

class FrozenTree;

/// Kills all processes of a frozen tree. Returns true if the root is init of criu's pid namespace; the processes of
/// this namespace then end only when criu, the calling process and their tracer, ends. Warns if init of another pid
/// namespace can't end within some seconds. Sets `begun` after all processes have got a signal of one pipe;
/// FrozenProcess::killSent() tells of other signals. Throws compel::Error.
[[nodiscard]] bool killTree(FrozenTree& tree, Log& log, bool& begun);

}  // namespace criu::engine
