// SPDX-License-Identifier: GPL-2.0-only
// zdtm: also new-pidns, new-pidns-again
#include <vector>

#include "zdtm.hpp"

ZDTM("sessions inside the tree, with children and process groups") {
    const pid_t own = getsid(0);
    std::vector<pid_t> leaders;
    for (int i = 0; i < 3; ++i) {
        leaders.push_back(me.start_child([](zdtm::Task& task) {
            const pid_t session = SYS(setsid());
            const pid_t simple = task.start_child([session](zdtm::Task& child) {
                child.wait_for_check();
                CHECK(getsid(0) == session && getpgrp() == session, "session %d, group %d", getsid(0), getpgrp());
            });
            const pid_t grouped = task.start_child([session](zdtm::Task& child) {
                SYS(setpgid(0, 0));
                child.wait_for_check();
                CHECK(getsid(0) == session && getpgrp() == getpid(), "session %d, group %d", getsid(0), getpgrp());
            });
            task.wait_for_check();
            CHECK(getsid(0) == session && session == getpid(), "session %d", getsid(0));
            task.finish(simple);
            task.finish(grouped);
        }));
    }
    me.wait_for_check();
    CHECK(getsid(0) == own, "session was %d, is %d", own, getsid(0));
    for (const pid_t leader : leaders) {
        me.finish(leader);
    }
}
