// SPDX-License-Identifier: GPL-2.0-only
// zdtm: ignore thread \d+ (ShdPnd|SigBlk)
#include "patience.hpp"
#include "zdtm.hpp"

namespace {
volatile sig_atomic_t alarms = 0;

void count(int) {
    alarms = alarms + 1;
}
}  // namespace

ZDTM("a periodic alarm that expires before, during and after the dump") {
    struct sigaction action {};
    action.sa_handler = count;
    action.sa_flags = SA_RESTART;
    SYS(sigaction(SIGALRM, &action, nullptr));
    SYS(static_cast<int>(ualarm(2000, 2000)));
    me.ready();
    while (!me.triggered()) {
        usleep(500);
    }
    me.wait_trigger();

    // Checks the mask outside of the handler only. Inside of it the alarm is blocked, and the runner may see either.
    sigset_t blocked;
    SYS(sigprocmask(SIG_SETMASK, nullptr, &blocked));
    CHECK(sigismember(&blocked, SIGALRM) == 0, "the alarm is blocked");

    alarms = 0;
    for (int i = 0; i < zdtm::kPatience / 2 && alarms < 5; ++i) {
        usleep(2000);
    }
    CHECK(alarms >= 5, "%d alarms", alarms);
}
