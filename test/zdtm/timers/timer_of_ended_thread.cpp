// SPDX-License-Identifier: GPL-2.0-only
// zdtm: ignore timers
#include <pthread.h>

#include <ctime>
#include <thread>

#include "thread_timers.hpp"
#include "zdtm.hpp"

namespace {

timer_t cpu_timer(clockid_t clock) {
    sigevent event{};
    event.sigev_notify = SIGEV_NONE;
    timer_t timer{};
    SYS(timer_create(clock, &event, &timer));
    return timer;
}

}  // namespace

ZDTM("timers that signal an ended thread, or count its processor time, never expire") {
    const itimerspec long_time{{7, 0}, {1000, 0}};
    timer_t repeats{};
    timer_t expired{};
    timer_t counts{};
    std::thread([&] {
        repeats = zdtm::timer_for(gettid(), SIGPROF);
        SYS(timer_settime(repeats, 0, &long_time, nullptr));
        expired = zdtm::timer_for(gettid(), SIGPROF);
        clockid_t clock{};
        CHECK(pthread_getcpuclockid(pthread_self(), &clock) == 0, "no clock");
        counts = cpu_timer(clock);
        SYS(timer_settime(counts, 0, &long_time, nullptr));
    }).join();
    // A timer of the process' own time expires as usual.
    const timer_t process = cpu_timer(CLOCK_PROCESS_CPUTIME_ID);
    SYS(timer_settime(process, 0, &long_time, nullptr));
    const itimerspec at_once{{0, 0}, {0, 1}};
    SYS(timer_settime(expired, 0, &at_once, nullptr));
    me.wait_for_check();

    itimerspec left{};
    SYS(timer_gettime(repeats, &left));
    CHECK(left.it_interval.tv_sec == 7 && left.it_value.tv_sec > 800 && left.it_value.tv_sec <= 1000, "%ld s of %ld",
          left.it_value.tv_sec, left.it_interval.tv_sec);
    SYS(timer_gettime(expired, &left));
    CHECK(left.it_value.tv_sec == 0 && left.it_value.tv_nsec == 0 && left.it_interval.tv_sec == 0, "it runs again");
    SYS(timer_gettime(counts, &left));
    CHECK(left.it_value.tv_sec == 0 && left.it_value.tv_nsec == 0 && left.it_interval.tv_sec == 0,
          "the time of an ended thread: %ld s", left.it_value.tv_sec);
    SYS(timer_gettime(process, &left));
    CHECK(left.it_interval.tv_sec == 7 && left.it_value.tv_sec > 800, "the time of the process: %ld s",
          left.it_value.tv_sec);
    for (const timer_t timer : {repeats, expired, counts, process})
        SYS(timer_delete(timer));
}
