// SPDX-License-Identifier: GPL-2.0-only
// zdtm: fails-with-4.2 its images don't say that advised memory is excepted
#include <sys/prctl.h>

#include "zdtm.hpp"

ZDTM("transparent huge pages are off for one process (PR_SET_THP_DISABLE)") {
    const pid_t child = me.start_child([](zdtm::Task& task) {
        SYS(prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0));
        task.wait_for_check();
        CHECK(prctl(PR_GET_THP_DISABLE, 0, 0, 0, 0) == 1, "huge pages are on again");
    });
    const pid_t advised = me.start_child([](zdtm::Task& task) {
        constexpr int kExceptAdvised = 2;  // PR_THP_DISABLE_EXCEPT_ADVISED, Linux 6.18
        const bool known = prctl(PR_SET_THP_DISABLE, 1, kExceptAdvised, 0, 0) == 0;
        task.wait_for_check();
        const int now = prctl(PR_GET_THP_DISABLE, 0, 0, 0, 0);
        CHECK(now == (known ? 1 | kExceptAdvised : 0), "huge pages: %d", now);
    });
    me.wait_for_check();
    CHECK(prctl(PR_GET_THP_DISABLE, 0, 0, 0, 0) == 0, "huge pages are off here, too");
    me.finish(child);
    me.finish(advised);
}
