// SPDX-License-Identifier: GPL-2.0-only
// Timers that signal one thread (SIGEV_THREAD_ID).
#pragma once

#include <signal.h>
#include <time.h>

#include "zdtm.hpp"

namespace zdtm {

// Makes a timer. `thread` is the tid in this process' pid namespace. The signal carries `value`.
inline timer_t timer_for(pid_t thread, int signal, int value = 0) {
    sigevent event{};
    event.sigev_notify = SIGEV_THREAD_ID;
    event.sigev_signo = signal;
    event.sigev_value.sival_int = value;
    event._sigev_un._tid = thread;
    timer_t timer{};
    SYS(timer_create(CLOCK_MONOTONIC, &event, &timer));
    return timer;
}

// Lets the timer expire once, in a millisecond.
inline void let_go_off(timer_t timer) {
    const itimerspec soon{{0, 0}, {0, 1000000}};
    SYS(timer_settime(timer, 0, &soon, nullptr));
}

}  // namespace zdtm
