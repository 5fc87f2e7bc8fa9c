// SPDX-License-Identifier: GPL-2.0-only
#include "zdtm.hpp"

ZDTM("a child in the session that its parent has left after the fork") {
    const pid_t first = getsid(0);
    const pid_t parent = me.start_child([first](zdtm::Task& task) {
        const pid_t stayed = task.start_child([first](zdtm::Task& child) {
            child.wait_for_check();
            CHECK(getsid(0) == first, "session was %d, is %d", first, getsid(0));
        });
        const pid_t session = SYS(setsid());
        const pid_t went = task.start_child([session](zdtm::Task& child) {
            child.wait_for_check();
            CHECK(getsid(0) == session, "session was %d, is %d", session, getsid(0));
        });
        task.wait_for_check();
        CHECK(getsid(0) == session, "session was %d, is %d", session, getsid(0));
        task.finish(stayed);
        task.finish(went);
    });
    me.wait_for_check();
    me.finish(parent);
}
