// SPDX-License-Identifier: GPL-2.0-only
// zdtm: fails-with-4.2 the members end up with another parent
#include <sys/prctl.h>

#include "zdtm.hpp"

ZDTM("a session whose leader has been reaped; its members are children of the subreaper") {
    SYS(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0));
    const std::span<std::byte> memory =
        zdtm::map(zdtm::page_size(), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS);
    auto* const shared = reinterpret_cast<pid_t*>(memory.data());
    const pid_t leader = me.start_child([&](zdtm::Task& task) {
        const pid_t session = SYS(setsid());
        for (int i = 0; i < 2; ++i) {
            shared[i] = task.start_child([session, i](zdtm::Task& member) {
                if (i == 1) {
                    SYS(setpgid(0, 0));
                }
                member.wait_for_check();
                CHECK(getsid(0) == session, "session was %d, is %d", session, getsid(0));
                CHECK(getpgrp() == (i == 1 ? getpid() : session), "group %d", getpgrp());
            });
        }
        task.wait_for_check();
    });
    me.finish(leader);
    CHECK(getsid(shared[0]) == leader && getsid(shared[1]) == leader, "the sessions aren't as planned");
    me.wait_for_check();
    me.finish(shared[0]);
    me.finish(shared[1]);
}
