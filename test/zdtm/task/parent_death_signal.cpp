// SPDX-License-Identifier: GPL-2.0-only
#include <sys/prctl.h>

#include "zdtm.hpp"

ZDTM("the parent-death signal stays set and comes") {
    int report[2];
    SYS(pipe(report));
    const pid_t middle = me.start_child([&](zdtm::Task& task) {
        task.start_child([&](zdtm::Task& grandchild) {
            SYS(prctl(PR_SET_PDEATHSIG, SIGUSR1, 0, 0, 0));
            sigset_t set;
            sigemptyset(&set);
            sigaddset(&set, SIGUSR1);
            SYS(sigprocmask(SIG_BLOCK, &set, nullptr));
            grandchild.ready();
            siginfo_t info{};
            // A stop may end this call with EINTR (signal(7)), and a dump stops the task.
            while (sigwaitinfo(&set, &info) != SIGUSR1) {
                CHECK(errno == EINTR, "%s", strerror(errno));
            }
            int number = 0;
            SYS(prctl(PR_GET_PDEATHSIG, &number, 0, 0, 0));
            CHECK(number == SIGUSR1, "signal %d", number);
            CHECK(write(report[1], "d", 1) == 1, "%s", strerror(errno));
        });
        task.wait_for_check();
    });
    me.wait_for_check();

    me.finish(middle);
    char byte = 0;
    CHECK(read(report[0], &byte, 1) == 1 && byte == 'd', "the grandchild did not hear of its parent's death");
}
