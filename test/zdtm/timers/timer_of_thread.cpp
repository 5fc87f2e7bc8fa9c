// SPDX-License-Identifier: GPL-2.0-only
#include <ctime>

#include "patience.hpp"
#include "thread_timers.hpp"
#include "threads.hpp"
#include "zdtm.hpp"

ZDTM("timers with SIGEV_THREAD_ID still signal their thread") {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGRTMIN + 1);
    sigaddset(&set, SIGTERM);
    SYS(sigprocmask(SIG_BLOCK, &set, nullptr));
    timer_t timers[4] = {};
    zdtm::Threads threads(
        4, [&](unsigned index) { timers[index] = zdtm::timer_for(gettid(), SIGRTMIN + 1, static_cast<int>(index)); },
        [&](unsigned index) {
            zdtm::let_go_off(timers[index]);
            sigset_t own;
            sigemptyset(&own);
            sigaddset(&own, SIGRTMIN + 1);
            siginfo_t info{};
            const timespec limit{zdtm::kPatience / 1000, 0};
            CHECK(sigtimedwait(&own, &info, &limit) == SIGRTMIN + 1, "thread %u got no signal", index);
            CHECK(info.si_value.sival_int == static_cast<int>(index), "thread %u got the timer of %d", index,
                  info.si_value.sival_int);
        });
    me.wait_for_check();
    threads.finish();
}
