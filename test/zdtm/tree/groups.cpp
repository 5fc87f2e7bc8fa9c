// SPDX-License-Identifier: GPL-2.0-only
#include <vector>

#include "zdtm.hpp"

ZDTM("process groups with the leader among the members or elsewhere in the tree") {
    const pid_t own = getpgrp();
    std::vector<pid_t> members;
    pid_t leader = 0;
    for (int i = 0; i < 3; ++i) {
        members.push_back(me.start_child([leader, i](zdtm::Task& task) {
            SYS(setpgid(0, leader));
            const pid_t group = getpgrp();
            task.wait_for_check();
            CHECK(getpgrp() == group, "member %d was in group %d, is in %d", i, group, getpgrp());
        }));
        leader = members.front();
    }
    me.wait_for_check();
    CHECK(getpgrp() == own, "group was %d, is %d", own, getpgrp());
    for (const pid_t member : members) {
        CHECK(getpgid(member) == leader, "%d is in group %d", member, getpgid(member));
    }
    for (const pid_t member : members) {
        me.finish(member);
    }
}
