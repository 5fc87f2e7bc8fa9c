// SPDX-License-Identifier: GPL-2.0-only
// zdtm: not-in leave-running
#include <sys/sem.h>

#include "threads.hpp"
#include "zdtm.hpp"

namespace {

void add(int set, unsigned short which, short amount, short flags) {
    sembuf operation{which, amount, flags};
    SYS(semop(set, &operation, 1));
}

}  // namespace

ZDTM("semaphores of an IPC namespace outside of the tree, with no undo value of the tree, stay unchanged") {
    const int set = SYS(semget(IPC_PRIVATE, 2, IPC_CREAT | 0600));
    zdtm::Threads threads(
        1, [](unsigned) {}, [](unsigned) {});
    add(set, 0, 5, SEM_UNDO);
    add(set, 0, -5, SEM_UNDO);  // leaves an undo value of 0
    add(set, 1, 7, 0);
    const pid_t holder = me.start_child([&](zdtm::Task& task) {
        add(set, 1, 3, SEM_UNDO);
        add(set, 1, -3, SEM_UNDO);
        task.wait_for_check();
    });
    me.wait_for_check();
    me.finish(holder);
    threads.finish();
    const int values[] = {semctl(set, 0, GETVAL), semctl(set, 1, GETVAL)};
    SYS(semctl(set, 0, IPC_RMID));
    CHECK(values[0] == 0 && values[1] == 7, "the semaphores have %d and %d", values[0], values[1]);
}
