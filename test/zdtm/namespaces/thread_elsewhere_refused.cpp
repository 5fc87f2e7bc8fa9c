// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes refused
// zdtm: refused is in another uts namespace than the process.*in the place of such a thread
#include <sched.h>

#include "threads.hpp"
#include "zdtm.hpp"

ZDTM("a dump refuses a thread in a namespace of its own") {
    zdtm::Threads threads(
        2,
        [](unsigned index) {
            if (index == 1)
                SYS(unshare(CLONE_NEWUTS));
        },
        [](unsigned index) {
            if (index == 1)
                SYS(sethostname("inside", 6));
        });
    me.wait_for_check();
    threads.finish();
    char name[256] = {};
    SYS(gethostname(name, sizeof(name) - 1));
    CHECK(strcmp(name, "inside") != 0, "the name of all is the thread's");
}
