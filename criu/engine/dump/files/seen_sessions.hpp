// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <vector>

#include "criu/tty/seen_session.hpp"

namespace criu::engine {

class FrozenTree;

/// The sessions of all processes that are alive, with their terminals. A dead process counts as its session's leader.
[[nodiscard]] std::vector<tty::SeenSession> sessionsOf(FrozenTree& tree);

}  // namespace criu::engine
