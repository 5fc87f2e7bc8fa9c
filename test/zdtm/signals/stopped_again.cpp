// SPDX-License-Identifier: GPL-2.0-only
// zdtm: ignore thread \d+ ShdPnd
#include <sys/wait.h>

#include "zdtm.hpp"

ZDTM("waitid(2) still reports a stop that it has not reported before the dump") {
    const pid_t child = me.start_child([](zdtm::Task& task) { task.wait_for_check(); });
    // The whole test is an orphaned process group, for which the kernel ignores terminal stop signals.
    SYS(setpgid(child, child));
    SYS(kill(child, SIGTSTP));
    siginfo_t info{};
    SYS(waitid(P_PID, static_cast<id_t>(child), &info, WSTOPPED | WNOWAIT));
    CHECK(info.si_status == SIGTSTP, "stopped by %d", info.si_status);
    me.wait_for_check();

    SYS(waitid(P_PID, static_cast<id_t>(child), &info, WSTOPPED | WNOHANG));
    CHECK(info.si_pid == child && info.si_code == CLD_STOPPED, "no stop to be seen");
    CHECK(info.si_status == SIGTSTP, "stopped by %d", info.si_status);
    SYS(kill(child, SIGCONT));
    me.finish(child);
}
