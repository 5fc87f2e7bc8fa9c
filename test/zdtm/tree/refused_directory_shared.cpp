// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes refused
// zdtm: refused processes \d+ and \d+ share their working directory \(CLONE_FS\)
#include <sched.h>
#include <sys/syscall.h>

#include "zdtm.hpp"

ZDTM("a dump refuses processes of the tree that share their working directory (CLONE_FS)") {
    const pid_t child = static_cast<pid_t>(SYS(syscall(SYS_clone, CLONE_FS | SIGCHLD, 0, 0, 0, 0)));
    if (child == 0)
        for (;;)
            pause();
    me.wait_for_check();
    zdtm::kill_and_reap(child);
}
