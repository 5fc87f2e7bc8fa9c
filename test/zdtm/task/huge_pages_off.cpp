// SPDX-License-Identifier: GPL-2.0-only
#include <sys/prctl.h>

#include "zdtm.hpp"

ZDTM("transparent huge pages switched off for one process") {
    const pid_t child = me.start_child([](zdtm::Task& task) {
        SYS(prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0));
        task.wait_for_check();
        CHECK(prctl(PR_GET_THP_DISABLE, 0, 0, 0, 0) == 1, "huge pages are on again");
    });
    me.wait_for_check();
    CHECK(prctl(PR_GET_THP_DISABLE, 0, 0, 0, 0) == 0, "huge pages are off here, too");
    me.finish(child);
}
