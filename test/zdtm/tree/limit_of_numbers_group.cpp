// SPDX-License-Identifier: GPL-2.0-only
// zdtm: between f=/proc/sys/kernel/pid_max; was=$(cat $f); unshare -pf sh -c "echo $((was-1)) >$f"; if [ $(cat $f) = $was ]; then echo 20000 >$f; else echo $was >$f; fi
#include "high_numbers.hpp"

ZDTM("a process group id above pid_max of the pid namespace that the tree is restored in; the leader has ended") {
    const pid_t number = zdtm::name_next_above_limit();
    const pid_t leader = SYS(fork());
    if (leader == 0) {
        pause();
        _exit(0);
    }
    CHECK(leader == number, "pid %d", leader);
    SYS(setpgid(leader, leader));
    zdtm::write_file("/proc/sys/kernel/ns_last_pid", "100");
    const pid_t member = me.start_child([leader](zdtm::Task& task) {
        SYS(setpgid(0, leader));
        task.wait_for_check();
        CHECK(getpgrp() == leader, "group was %d, is %d", leader, getpgrp());
    });
    CHECK(member < leader, "pid %d", member);
    zdtm::kill_and_reap(leader);
    me.wait_for_check();
    zdtm::check_limit(number);
    me.finish(member);
}
