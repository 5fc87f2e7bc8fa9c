// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes refused
// zdtm: refused has ended, in a pid namespace that it was put into from another one
#include <fcntl.h>
#include <sched.h>
#include <sys/wait.h>

#include "nested_pids.hpp"

ZDTM("a dump refuses a zombie that entered a pid namespace from above") {
    const int home = SYS(open("/proc/self/ns/pid", O_RDONLY | O_CLOEXEC));
    SYS(unshare(CLONE_NEWPID));
    const pid_t first = me.start_child([](zdtm::Task& task) { task.wait_for_check(); });
    const pid_t entered = SYS(fork());
    if (entered == 0)
        _exit(3);
    SYS(setns(home, CLONE_NEWPID));
    SYS(close(home));
    siginfo_t info{};
    SYS(waitid(P_PID, static_cast<id_t>(entered), &info, WEXITED | WNOWAIT));
    me.wait_for_check();
    const int status = zdtm::wait_status(entered);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 3, "%#x", unsigned(status));
    me.finish(first);
}
