// SPDX-License-Identifier: GPL-2.0-only
// zdtm: fails-with-4.2 it forgets what is to be undone
#include <sched.h>
#include <sys/sem.h>
#include <sys/wait.h>

#include "threads.hpp"
#include "zdtm.hpp"

namespace {

void add(int set, unsigned short which, short amount, short flags) {
    sembuf operation{which, amount, static_cast<short>(flags | IPC_NOWAIT)};
    SYS(semop(set, &operation, 1));
}

int value(int set, int which) {
    return SYS(semctl(set, which, GETVAL));
}

}  // namespace

ZDTM("semaphore undo values take effect when their holders end; one holder is killed, another has threads") {
    SYS(unshare(CLONE_NEWIPC));
    const int locks = SYS(semget(IPC_PRIVATE, 40, IPC_CREAT | 0600));
    const int counts = SYS(semget(IPC_PRIVATE, 1, IPC_CREAT | 0600));
    add(locks, 0, 1, 0);
    add(locks, 1, 5, 0);
    add(locks, 39, 30000, 0);
    const pid_t holder = me.start_child([&](zdtm::Task& task) {
        add(locks, 0, -1, SEM_UNDO);
        add(locks, 39, -29000, SEM_UNDO);
        add(counts, 0, 7, SEM_UNDO);  // the kernel subtracts this when the process ends
        task.wait_for_check();
        task.wait_trigger();  // the parent kills the process here
    });
    const pid_t threaded = me.start_child([&](zdtm::Task& task) {
        zdtm::Threads threads(
            2, [&](unsigned) { add(locks, 1, -2, SEM_UNDO); }, [](unsigned) {});
        threads.wait_arrived();
        task.wait_for_check();
        threads.finish();
    });
    me.wait_for_check();

    CHECK(value(locks, 0) == 0 && value(locks, 1) == 1 && value(locks, 39) == 1000 && value(counts, 0) == 7,
          "other values: %d %d %d %d", value(locks, 0), value(locks, 1), value(locks, 39), value(counts, 0));
    me.finish(threaded);
    CHECK(value(locks, 1) == 5, "the threads' semaphore has %d", value(locks, 1));
    zdtm::kill_and_reap(holder);
    CHECK(value(locks, 0) == 1, "the lock has %d", value(locks, 0));
    CHECK(value(locks, 39) == 30000, "the last semaphore has %d", value(locks, 39));
    CHECK(value(counts, 0) == 0, "the count is %d", value(counts, 0));
}
