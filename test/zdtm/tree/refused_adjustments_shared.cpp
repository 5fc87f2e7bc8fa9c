// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes refused
// zdtm: refused processes \d+ and \d+ share their semaphore adjustments \(CLONE_SYSVSEM\)
#include <sched.h>
#include <sys/sem.h>
#include <sys/syscall.h>

#include "zdtm.hpp"

ZDTM("a dump refuses processes of the tree that share semaphore undo values") {
    SYS(unshare(CLONE_NEWIPC));
    const int set = SYS(semget(IPC_PRIVATE, 1, IPC_CREAT | 0600));
    sembuf operation{0, 3, SEM_UNDO};
    SYS(semop(set, &operation, 1));
    const pid_t child = static_cast<pid_t>(SYS(syscall(SYS_clone, CLONE_SYSVSEM | SIGCHLD, 0, 0, 0, 0)));
    if (child == 0)
        for (;;)
            pause();
    me.wait_for_check();
    zdtm::kill_and_reap(child);
    CHECK(semctl(set, 0, GETVAL) == 3, "the semaphore has %d", semctl(set, 0, GETVAL));
}
