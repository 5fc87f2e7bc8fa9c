// SPDX-License-Identifier: GPL-2.0-only
#include <sys/prctl.h>
#include <sys/shm.h>

#include "zdtm.hpp"

ZDTM("the dumpable flag, set and cleared") {
    const pid_t child = me.start_child([](zdtm::Task& task) {
        SYS(prctl(PR_SET_DUMPABLE, 0, 0, 0, 0));
        task.wait_for_check();
        CHECK(prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == 0, "is %d", prctl(PR_GET_DUMPABLE, 0, 0, 0, 0));
    });
    // The kernel stores the segment's creator, so criu takes that uid for a moment when it creates the segment again.
    SYS(setresuid(-1U, 1000, -1U));
    const int segment = SYS(shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0666));
    SYS(setresuid(-1U, 0, -1U));
    SYS(prctl(PR_SET_DUMPABLE, 1, 0, 0, 0));
    void* const shared = shmat(segment, nullptr, 0);
    SYS(shmctl(segment, IPC_RMID, nullptr));
    CHECK(shared != reinterpret_cast<void*>(-1), "shmat: %m");
    me.wait_for_check();
    CHECK(prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == 1, "is %d", prctl(PR_GET_DUMPABLE, 0, 0, 0, 0));
    me.finish(child);
}
