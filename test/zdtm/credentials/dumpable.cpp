// SPDX-License-Identifier: GPL-2.0-only
#include <sys/prctl.h>

#include "zdtm.hpp"

ZDTM("the dumpable flag, on and off") {
    const pid_t child = me.start_child([](zdtm::Task& task) {
        SYS(prctl(PR_SET_DUMPABLE, 0, 0, 0, 0));
        task.wait_for_check();
        CHECK(prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == 0, "is %d", prctl(PR_GET_DUMPABLE, 0, 0, 0, 0));
    });
    me.wait_for_check();
    CHECK(prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == 1, "is %d", prctl(PR_GET_DUMPABLE, 0, 0, 0, 0));
    me.finish(child);
}
