// SPDX-License-Identifier: GPL-2.0-only
// Processes outside of the tree.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include "zdtm.hpp"

namespace zdtm {

// Leaves a process in the namespaces of the calling process. Its parent is outside of the tree.
inline pid_t leave_outsider() {
    int ends[2];
    SYS(pipe(ends));
    const pid_t parent = SYS(fork());
    if (parent == 0) {
        const pid_t outsider = SYS(fork());
        if (outsider == 0) {
            SYS(setsid());
            for (;;)
                pause();
        }
        SYS(write(ends[1], &outsider, sizeof(outsider)));
        _exit(0);
    }
    SYS(waitpid(parent, nullptr, 0));
    pid_t outsider = 0;
    SYS(read(ends[0], &outsider, sizeof(outsider)));
    SYS(close(ends[0]));
    SYS(close(ends[1]));
    return outsider;
}

}  // namespace zdtm
