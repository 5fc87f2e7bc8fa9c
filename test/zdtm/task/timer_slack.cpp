// SPDX-License-Identifier: GPL-2.0-only
// zdtm: fails-with-4.2 it does not keep timer slack
#include <sys/prctl.h>

#include "threads.hpp"
#include "zdtm.hpp"

ZDTM("timer slack of each thread") {
    zdtm::Threads threads(
        3, [](unsigned index) { SYS(prctl(PR_SET_TIMERSLACK, 1000 + index, 0, 0, 0)); },
        [](unsigned index) {
            const int slack = prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0);
            CHECK(slack == static_cast<int>(1000 + index), "thread %u: %d ns", index, slack);
        });
    me.wait_for_check();
    threads.finish();
}
