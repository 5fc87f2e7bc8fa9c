// SPDX-License-Identifier: GPL-2.0-only
// zdtm: own-pids yes
// zdtm: modes dumped-inside
#include <sched.h>
#include <sys/mount.h>

#include "nested_pids.hpp"

ZDTM("criu is inside the dumped pid namespace, and a process has entered a nested pid namespace") {
    CHECK(getpid() == 1, "pid %d", getpid());
    SYS(unshare(CLONE_NEWNS));
    SYS(mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr));
    SYS(mount("proc", "/proc", "proc", 0, nullptr));
    const pid_t first = zdtm::start_first(me, [](zdtm::Task& task) {
        task.wait_for_check();
        CHECK(getpid() == 1 && getppid() == 0, "pid %d, child of %d", getpid(), getppid());
    });
    const pid_t entered = zdtm::start_inside(me, first, [](zdtm::Task& task) {
        const pid_t own = getpid();
        task.wait_for_check();
        CHECK(getpid() == own && own > 1 && getppid() == 0, "pid %d was %d, child of %d", getpid(), own, getppid());
    });
    me.wait_for_check();
    CHECK(getpid() == 1, "pid %d", getpid());
    me.finish(entered);
    me.finish(first);
}
