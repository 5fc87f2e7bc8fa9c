// SPDX-License-Identifier: GPL-2.0-only
// zdtm: between f=/proc/sys/kernel/pid_max; was=$(cat $f); unshare -pf sh -c "echo $((was-1)) >$f"; if [ $(cat $f) = $was ]; then echo 20000 >$f; else echo $was >$f; fi
#include <sys/prctl.h>

#include "high_numbers.hpp"

ZDTM("a session id above pid_max of the pid namespace that the tree is restored in; the leader has ended") {
    const pid_t number = zdtm::name_next_above_limit();
    int ready[2];
    SYS(pipe(ready));
    const pid_t leader = SYS(fork());
    if (leader == 0) {
        SYS(setsid());
        zdtm::write_file("/proc/sys/kernel/ns_last_pid", "100");
        const pid_t member = SYS(fork());
        if (member == 0) {
            pause();
            _exit(0);
        }
        SYS(write(ready[1], &member, sizeof(member)));
        pause();
        _exit(0);
    }
    CHECK(leader == number, "pid %d", leader);
    pid_t member = 0;
    SYS(read(ready[0], &member, sizeof(member)));
    CHECK(member < leader, "pid %d", member);
    SYS(prctl(PR_SET_CHILD_SUBREAPER, 1));
    zdtm::kill_and_reap(leader);
    me.wait_for_check();
    zdtm::check_limit(number);
    CHECK(getsid(member) == leader, "session was %d, is %d", leader, getsid(member));
    zdtm::kill_and_reap(member);
}
