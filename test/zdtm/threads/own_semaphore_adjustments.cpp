// SPDX-License-Identifier: GPL-2.0-only
// zdtm: fails-with-4.2 it gives all threads one list
#include <sched.h>
#include <sys/sem.h>

#include <filesystem>
#include <iterator>

#include "threads.hpp"
#include "zdtm.hpp"

namespace {

void add(int set, short amount) {
    sembuf operation{0, amount, SEM_UNDO | IPC_NOWAIT};
    SYS(semop(set, &operation, 1));
}

std::ptrdiff_t count_threads() {
    const std::filesystem::directory_iterator threads("/proc/self/task");
    return std::distance(begin(threads), end(threads));
}

}  // namespace

ZDTM("a thread with private semaphore undo values (CLONE_SYSVSEM), which take effect when it ends") {
    SYS(unshare(CLONE_NEWIPC));
    const int set = SYS(semget(IPC_PRIVATE, 1, IPC_CREAT | 0600));
    add(set, 5);  // the kernel subtracts this when the process ends
    zdtm::Threads threads(
        1, [](unsigned) { SYS(unshare(CLONE_SYSVSEM)); }, [&](unsigned) { add(set, 2); });
    me.wait_for_check();
    threads.finish();
    // The kernel applies undo values before it removes the thread from /proc (do_exit() in kernel/exit.c).
    while (count_threads() != 1)
        sched_yield();
    const int value = SYS(semctl(set, 0, GETVAL));
    CHECK(value == 5, "the semaphore has %d", value);
}
