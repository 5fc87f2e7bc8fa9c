// SPDX-License-Identifier: GPL-2.0-only
// zdtm: ignore map .*, smaps .*, stat 23, thread .*
#include <ctime>

#include <atomic>

#include "patience.hpp"
#include "zdtm.hpp"

namespace {

std::atomic<unsigned> ticks{0};

void count(sigval) {
    ++ticks;
}

}  // namespace

ZDTM("fast SIGEV_THREAD timers, whose signal libc never blocks") {
    for (int i = 0; i < 3; ++i) {
        sigevent event{};
        event.sigev_notify = SIGEV_THREAD;
        event.sigev_notify_function = count;
        timer_t timer{};
        SYS(timer_create(CLOCK_MONOTONIC, &event, &timer));
        const itimerspec often{{0, 1'000'000}, {0, 1'000'000}};
        SYS(timer_settime(timer, 0, &often, nullptr));
    }
    while (ticks < 10) {
        usleep(1000);
    }
    me.wait_for_check();

    for (int round = 0; round < 3; ++round) {
        const unsigned before = ticks;
        for (int tries = 0; ticks < before + 10; ++tries) {
            CHECK(tries < zdtm::kPatience, "the timers stand still");
            usleep(1000);
        }
    }
}
