// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <vector>

#include "criu/tty/seen_session.hpp"

namespace criu {
class Log;
}

namespace criu::engine {

class FrozenTree;

/// Returns the sessions of all living processes, with their terminals. A zombie counts as leader of its session. Warns
/// of processes without the controlling terminal of their session, because a restore gives it to all of them.
[[nodiscard]] std::vector<tty::SeenSession> sessionsOf(FrozenTree& tree, Log& log);

}  // namespace criu::engine
