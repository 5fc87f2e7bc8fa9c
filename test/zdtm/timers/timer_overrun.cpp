// SPDX-License-Identifier: GPL-2.0-only
#include <ctime>

#include "patience.hpp"
#include "zdtm.hpp"

ZDTM("a timer with a pending signal counts overruns, and continues after the signal is taken") {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGRTMIN);
    SYS(sigprocmask(SIG_BLOCK, &set, nullptr));
    timer_t timer{};
    sigevent event{};
    event.sigev_notify = SIGEV_SIGNAL;
    event.sigev_signo = SIGRTMIN;
    event.sigev_value.sival_int = 77;
    SYS(timer_create(CLOCK_MONOTONIC, &event, &timer));
    const itimerspec often{{0, 1000000}, {0, 1000000}};
    SYS(timer_settime(timer, 0, &often, nullptr));
    usleep(30000);
    me.wait_for_check();

    siginfo_t info{};
    const timespec limit{zdtm::kPatience / 1000, 0};
    CHECK(sigtimedwait(&set, &info, &limit) == SIGRTMIN, "no signal");
    CHECK(info.si_value.sival_int == 77, "value %d", info.si_value.sival_int);
    const int overrun = SYS(timer_getoverrun(timer));
    CHECK(overrun >= 0, "overrun %d", overrun);
    for (int i = 0; i < 5; ++i) {
        CHECK(sigtimedwait(&set, &info, &limit) == SIGRTMIN && info.si_code == SI_TIMER, "no signal %d", i);
    }
    SYS(timer_delete(timer));
}
