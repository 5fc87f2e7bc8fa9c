// SPDX-License-Identifier: GPL-2.0-only
#include "zdtm.hpp"

ZDTM("a process group whose leader has been reaped") {
    const pid_t leader = SYS(fork());
    if (leader == 0) {
        pause();
        _exit(0);
    }
    SYS(setpgid(leader, leader));
    const auto join = [leader](zdtm::Task& task) {
        SYS(setpgid(0, leader));
        task.wait_for_check();
        CHECK(getpgrp() == leader, "group was %d, is %d", leader, getpgrp());
    };
    const pid_t first = me.start_child(join);
    const pid_t second = me.start_child(join);
    zdtm::kill_and_reap(leader);
    me.wait_for_check();
    CHECK(getpgid(first) == leader && getpgid(second) == leader, "groups %d and %d", getpgid(first), getpgid(second));
    me.finish(first);
    me.finish(second);
}
