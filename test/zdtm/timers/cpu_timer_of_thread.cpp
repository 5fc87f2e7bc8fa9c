// SPDX-License-Identifier: GPL-2.0-only
// zdtm: ignore timers
// zdtm: may-differ timer 0: clock_id:
#include <ctime>

#include "thread_timers.hpp"
#include "threads.hpp"
#include "zdtm.hpp"

namespace {

timer_t own_cpu_timer(int signal) {
    sigevent event{};
    event.sigev_notify = SIGEV_THREAD_ID;
    event.sigev_signo = signal;
    event._sigev_un._tid = gettid();
    timer_t timer{};
    SYS(timer_create(CLOCK_THREAD_CPUTIME_ID, &event, &timer));
    return timer;
}

}  // namespace

ZDTM("a timer on a thread's own processor time still counts the time of that thread") {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGPROF);
    sigaddset(&set, SIGTERM);
    SYS(sigprocmask(SIG_BLOCK, &set, nullptr));
    timer_t timer{};
    zdtm::Threads threads(
        1, [&](unsigned) { timer = own_cpu_timer(SIGPROF); },
        [&](unsigned) {
            const itimerspec often{{0, 1'000'000}, {0, 1'000'000}};
            SYS(timer_settime(timer, 0, &often, nullptr));
            timespec used{};
            // All other threads sleep, so only this thread uses processor time.
            do {
                SYS(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used));
                sigset_t pending;
                SYS(sigpending(&pending));
                if (sigismember(&pending, SIGPROF) == 1)
                    return;
            } while (used.tv_sec < 10);
            CHECK(false, "no signal in 10 s of processor time");
        });
    me.wait_for_check();
    threads.finish();
}
