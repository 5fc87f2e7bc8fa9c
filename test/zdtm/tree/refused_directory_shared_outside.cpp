// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes refused
// zdtm: strangers yes
// zdtm: refused process \d+ shares its working directory \(CLONE_FS\) with process \d+, which isn't in the tree
#include <sched.h>
#include <sys/syscall.h>

#include "zdtm.hpp"

ZDTM("a dump refuses a process that shares its working directory with a process outside of the tree") {
    // The sibling is outside of the tree: a child of the root's parent.
    const pid_t sibling = static_cast<pid_t>(SYS(syscall(SYS_clone, CLONE_FS | CLONE_PARENT | SIGCHLD, 0, 0, 0, 0)));
    if (sibling == 0)
        for (;;)
            pause();
    me.wait_for_check();
    SYS(kill(sibling, SIGKILL));
}
