// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <vector>

#include "criu/tty/seen_session.hpp"

namespace criu::engine {

class FrozenTree;

/// Returns the sessions of all living processes, with their terminals. A zombie counts as leader of its session.
[[nodiscard]] std::vector<tty::SeenSession> sessionsOf(FrozenTree& tree);

}  // namespace criu::engine
