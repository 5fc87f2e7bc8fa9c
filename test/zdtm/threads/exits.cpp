// SPDX-License-Identifier: GPL-2.0-only
#include <sys/prctl.h>

#include "threads.hpp"
#include "zdtm.hpp"

ZDTM("after the restore, threads end and can be joined (clear_child_tid), and new ones start") {
    int* address = nullptr;
    zdtm::Threads threads(
        8, [](unsigned) {}, [](unsigned) {});
    SYS(prctl(PR_GET_TID_ADDRESS, &address, 0, 0, 0));
    me.wait_for_check();

    int* now = nullptr;
    SYS(prctl(PR_GET_TID_ADDRESS, &now, 0, 0, 0));
    CHECK(now == address, "clear_child_tid was %p, is %p", static_cast<void*>(address), static_cast<void*>(now));
    threads.finish();
    zdtm::Threads more(
        8, [](unsigned) {}, [](unsigned) {});
    more.finish();
}
