// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/types.h>

#include "criu/base/ids.hpp"

namespace criu::tty {

/// Session that contains processes of a dumped tree.
struct SeenSession {
    TreePid sid;
    bool leaderDumped = false;
    dev_t terminal = 0;  ///< controlling terminal; 0 if the session has none
    TreePid foreground;  ///< foreground process group of the terminal
};

}  // namespace criu::tty
