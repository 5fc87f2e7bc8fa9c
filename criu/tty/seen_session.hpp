// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/types.h>

namespace criu::tty {

/// A session that processes of a dumped tree are in.
struct SeenSession {
    pid_t sid = 0;
    bool leaderDumped = false;
    dev_t terminal = 0;    ///< the terminal that controls it; 0: none
    pid_t foreground = 0;  ///< process group in the foreground of that
};

}  // namespace criu::tty
