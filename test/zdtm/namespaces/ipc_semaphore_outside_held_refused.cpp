// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes refused
// zdtm: refused process \d+ has an adjustment of semaphore set \d+ \(SEM_UNDO\)
#include <sys/sem.h>

#include "zdtm.hpp"

ZDTM("a dump refuses a process with an undo value for a semaphore of an IPC namespace outside of the tree") {
    const int set = SYS(semget(IPC_PRIVATE, 20, IPC_CREAT | 0600));
    sembuf operations[] = {{17, 1, 0}, {17, -1, SEM_UNDO}};
    SYS(semop(set, operations, 2));
    me.wait_for_check();
    const int value = semctl(set, 17, GETVAL);
    SYS(semctl(set, 0, IPC_RMID));
    CHECK(value == 0, "the semaphore has %d", value);
}
