// SPDX-License-Identifier: GPL-2.0-only
#include <sys/time.h>

#include <ctime>

#include "patience.hpp"
#include "zdtm.hpp"

namespace {
volatile sig_atomic_t alarms = 0;
volatile sig_atomic_t ticks = 0;
void* volatile carried = nullptr;

void on_alarm(int) {
    alarms = alarms + 1;
}

void on_tick(int, siginfo_t* info, void*) {
    carried = info->si_value.sival_ptr;
    ticks = ticks + 1;
}
}  // namespace

ZDTM("timers of a 32-bit program expire and deliver their signal value") {
    struct sigaction action {};
    action.sa_handler = on_alarm;
    SYS(sigaction(SIGALRM, &action, nullptr));
    action.sa_flags = SA_SIGINFO;
    action.sa_sigaction = on_tick;
    SYS(sigaction(SIGRTMIN, &action, nullptr));
    sigevent event{};
    event.sigev_notify = SIGEV_SIGNAL;
    event.sigev_signo = SIGRTMIN;
    event.sigev_value.sival_ptr = &event;
    timer_t timer{};
    SYS(timer_create(CLOCK_MONOTONIC, &event, &timer));
    const itimerspec often{{0, 20'000'000}, {0, 20'000'000}};
    SYS(timer_settime(timer, 0, &often, nullptr));
    const itimerval also{{0, 30'000}, {0, 30'000}};
    SYS(setitimer(ITIMER_REAL, &also, nullptr));
    me.wait_for_check();

    const int alarms_before = alarms;
    const int ticks_before = ticks;
    for (int round = 0; round < zdtm::kPatience / 10 && (alarms < alarms_before + 3 || ticks < ticks_before + 3);
         ++round) {
        usleep(10'000);
    }
    CHECK(alarms >= alarms_before + 3 && ticks >= ticks_before + 3, "%d alarms, %d ticks", alarms - alarms_before,
          ticks - ticks_before);
    CHECK(carried == &event, "a tick carries %p", carried);
    SYS(timer_delete(timer));
}
