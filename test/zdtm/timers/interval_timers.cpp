// SPDX-License-Identifier: GPL-2.0-only
#include <sys/time.h>

#include <ctime>

#include "patience.hpp"
#include "zdtm.hpp"

namespace {
volatile sig_atomic_t counts[65] = {};

void count(int number) {
    counts[number] = counts[number] + 1;
}

std::int64_t microseconds(const timeval& time) {
    return time.tv_sec * std::int64_t{1000000} + time.tv_usec;
}
}  // namespace

ZDTM("the three interval timers keep interval and time left, and expire") {
    for (const int number : {SIGALRM, SIGVTALRM, SIGPROF}) {
        signal(number, count);
    }
    // Sets a far time, because the time left is checked.
    const itimerval far{{1000, 500000}, {5000, 0}};
    SYS(setitimer(ITIMER_REAL, &far, nullptr));
    const itimerval close{{0, 20000}, {0, 20000}};
    SYS(setitimer(ITIMER_VIRTUAL, &close, nullptr));
    const itimerval once{{0, 0}, {3000, 0}};
    SYS(setitimer(ITIMER_PROF, &once, nullptr));
    me.wait_for_check();

    itimerval now{};
    SYS(getitimer(ITIMER_REAL, &now));
    CHECK(microseconds(now.it_interval) == 1000500000, "interval %ld µs", microseconds(now.it_interval));
    CHECK(now.it_value.tv_sec > 4800 && now.it_value.tv_sec <= 5000, "%ld s left", now.it_value.tv_sec);
    SYS(getitimer(ITIMER_PROF, &now));
    CHECK(microseconds(now.it_interval) == 0, "interval %ld µs", microseconds(now.it_interval));
    CHECK(now.it_value.tv_sec > 2900 && now.it_value.tv_sec <= 3000, "%ld s left", now.it_value.tv_sec);
    SYS(getitimer(ITIMER_VIRTUAL, &now));
    CHECK(microseconds(now.it_interval) == 20000, "interval %ld µs", microseconds(now.it_interval));

    counts[SIGVTALRM] = 0;
    const timespec limit{time(nullptr) + zdtm::kPatience / 1000, 0};
    while (counts[SIGVTALRM] < 3) {
        CHECK(time(nullptr) < limit.tv_sec, "ITIMER_VIRTUAL went off %d times only", counts[SIGVTALRM]);
    }
    CHECK(counts[SIGALRM] == 0 && counts[SIGPROF] == 0, "far timers went off");
    const itimerval soon{{0, 0}, {0, 1000}};
    SYS(setitimer(ITIMER_REAL, &soon, nullptr));
    while (counts[SIGALRM] == 0) {
        CHECK(time(nullptr) < limit.tv_sec, "ITIMER_REAL does not go off");
    }
}
