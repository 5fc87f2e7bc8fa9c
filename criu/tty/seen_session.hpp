// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/types.h>

#include "criu/base/ids.hpp"

namespace criu::tty {

/// A session that processes of a dumped tree are in.
struct SeenSession {
    TreePid sid;
    bool leaderDumped = false;
    dev_t terminal = 0;  ///< controlling terminal; 0: none
    TreePid foreground;  ///< foreground process group of the terminal
};

}  // namespace criu::tty
