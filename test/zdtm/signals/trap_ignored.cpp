// SPDX-License-Identifier: GPL-2.0-only
// zdtm: fails-with-4.2 its breakpoints inside the task make the kernel set SIGTRAP back to its default action
#include "zdtm.hpp"

ZDTM("SIGTRAP stays ignored or blocked") {
    signal(SIGTRAP, SIG_IGN);
    const pid_t child = me.start_child([](zdtm::Task& task) {
        signal(SIGTRAP, SIG_DFL);
        sigset_t set;
        sigemptyset(&set);
        sigaddset(&set, SIGTRAP);
        SYS(sigprocmask(SIG_BLOCK, &set, nullptr));
        SYS(raise(SIGTRAP));
        task.wait_for_check();
        sigset_t pending;
        SYS(sigpending(&pending));
        CHECK(sigismember(&pending, SIGTRAP) == 1, "SIGTRAP is not pending any more");
        SYS(sigprocmask(SIG_SETMASK, nullptr, &set));
        CHECK(sigismember(&set, SIGTRAP) == 1, "SIGTRAP is not blocked any more");
    });
    me.wait_for_check();

    struct sigaction now {};
    SYS(sigaction(SIGTRAP, nullptr, &now));
    CHECK(now.sa_handler == SIG_IGN, "SIGTRAP is not ignored any more");
    SYS(raise(SIGTRAP));
    me.finish(child);
}
