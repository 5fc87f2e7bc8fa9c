// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/engine.hpp"

namespace criu::engine {

int dump(Run&) {
    fail("dump is not built yet");
}

}  // namespace criu::engine
