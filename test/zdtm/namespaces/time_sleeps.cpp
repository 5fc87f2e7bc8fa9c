// SPDX-License-Identifier: GPL-2.0-only
// zdtm: not-in all-killed, dump-killed, pre-dump-killed, restore-killed, restore-all-killed
// zdtm: modes once
// zdtm: fails-with-4.2 it ends such calls with EINTR, though no handler ran
#include <ctime>

#include "clocks.hpp"
#include "threads.hpp"
#include "zdtm.hpp"

ZDTM("sleeps until an absolute time in a time namespace end at that time") {
    constexpr std::int64_t kSeconds = 4;
    zdtm::enter_new_time(500'000, 900'000);
    zdtm::Threads threads(2, [&](unsigned index, zdtm::Threads& all) {
        const int clock = index == 0 ? CLOCK_MONOTONIC : CLOCK_BOOTTIME;
        const std::int64_t until = zdtm::read_clock(clock) + kSeconds * zdtm::second;
        const timespec when{until / zdtm::second, until % zdtm::second};
        all.arrive();
        const int error = clock_nanosleep(clock, TIMER_ABSTIME, &when, nullptr);
        CHECK(error == 0, "clock_nanosleep: %s", strerror(error));
        const std::int64_t late = zdtm::read_clock(clock) - until;
        CHECK(late >= 0 && late < 60 * zdtm::second, "woken up %ld ns too late", late);
    });
    me.wait_for_check();
    threads.finish();
}
