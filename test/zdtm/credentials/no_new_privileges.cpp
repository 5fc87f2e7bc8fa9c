// SPDX-License-Identifier: GPL-2.0-only
#include <sys/prctl.h>

#include "zdtm.hpp"

ZDTM("no_new_privs stays set in the task that set it, and is clear in the others") {
    const pid_t child = me.start_child([](zdtm::Task& task) {
        SYS(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
        task.wait_for_check();
        CHECK(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1, "no_new_privs is lost");
    });
    me.wait_for_check();
    CHECK(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 0, "no_new_privs came from nowhere");
    me.finish(child);
}
