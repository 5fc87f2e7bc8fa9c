// SPDX-License-Identifier: GPL-2.0-only
#include <sys/wait.h>

#include "zdtm.hpp"

ZDTM("a zombie leads a process group that has a member") {
    const pid_t group_leader = SYS(fork());
    if (group_leader == 0) {
        pause();
        _exit(0);
    }
    SYS(setpgid(group_leader, group_leader));
    const pid_t member = me.start_child([group_leader](zdtm::Task& task) {
        SYS(setpgid(0, group_leader));
        task.wait_for_check();
        CHECK(getpgrp() == group_leader, "group was %d, is %d", group_leader, getpgrp());
    });
    SYS(kill(group_leader, SIGKILL));
    siginfo_t info{};
    SYS(waitid(P_PID, static_cast<id_t>(group_leader), &info, WEXITED | WNOWAIT));
    me.wait_for_check();

    const int status = zdtm::wait_status(group_leader);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL, "status 0x%x", status);
    me.finish(member);
}
