// SPDX-License-Identifier: GPL-2.0-only
// zdtm: also restore-killed
// zdtm: fails-with-4.2 it makes all children those of the first thread
#include <sched.h>
#include <sys/wait.h>

#include "threads.hpp"
#include "zdtm.hpp"

ZDTM("the child of a thread of a 32-bit program") {
    pid_t child = 0;
    zdtm::Threads threads(
        2,
        [&](unsigned index) {
            if (index == 1)
                child = me.start_child([](zdtm::Task& born) { born.wait_for_check(); });
        },
        [&](unsigned index) {
            int status = 0;
            if (index == 0)
                CHECK(waitpid(child, &status, __WNOTHREAD) == -1 && errno == ECHILD, "the other has no child");
            else
                me.finish(child);
        });
    me.wait_for_check();
    threads.finish();
}
