// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes refused
// zdtm: refused put into its pid namespace from another one
#include <fcntl.h>
#include <sched.h>

#include "nested_pids.hpp"

ZDTM("a process that was put into a pid namespace by one outside of it is refused") {
    const int home = SYS(open("/proc/self/ns/pid", O_RDONLY | O_CLOEXEC));
    SYS(unshare(CLONE_NEWPID));
    const pid_t first = me.start_child([](zdtm::Task& task) { task.wait_for_check(); });
    const pid_t entered = me.start_child([](zdtm::Task& task) {
        task.wait_for_check();
        CHECK(getpid() == 2 && getppid() == 0, "pid %d, child of %d", getpid(), getppid());
    });
    SYS(setns(home, CLONE_NEWPID));
    SYS(close(home));
    me.wait_for_check();
    me.finish(entered);
    me.finish(first);
}
