// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes refused
// zdtm: refused thread \d+ of process \d+ .* has adjustments of semaphore set \d+ of its own
#include <sched.h>
#include <sys/sem.h>

#include "threads.hpp"
#include "zdtm.hpp"

ZDTM("a dump refuses a thread with private semaphore undo values") {
    SYS(unshare(CLONE_NEWIPC));
    const int set = SYS(semget(IPC_PRIVATE, 1, IPC_CREAT | 0600));
    zdtm::Threads threads(
        1,
        [&](unsigned) {
            SYS(unshare(CLONE_SYSVSEM));
            sembuf operation{0, 5, SEM_UNDO};
            SYS(semop(set, &operation, 1));
        },
        [](unsigned) {});
    me.wait_for_check();
    CHECK(semctl(set, 0, GETVAL) == 5, "it has %d", semctl(set, 0, GETVAL));
    threads.finish();
}
