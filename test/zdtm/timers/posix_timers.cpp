// SPDX-License-Identifier: GPL-2.0-only
// zdtm: also all-killed, pre-dump-killed, restore-killed
#include <ctime>

#include "patience.hpp"
#include "threads.hpp"
#include "zdtm.hpp"

namespace {
struct Timer {
    timer_t id;
    clockid_t clock;
    int notify;
    int signal;
    itimerspec setting;
};

void require_same(const itimerspec& before, const itimerspec& now, int index) {
    CHECK(now.it_interval.tv_sec == before.it_interval.tv_sec && now.it_interval.tv_nsec == before.it_interval.tv_nsec,
          "timer %d: interval %ld.%09ld", index, now.it_interval.tv_sec, now.it_interval.tv_nsec);
    if (before.it_value.tv_sec == 0) {
        CHECK(now.it_value.tv_sec == 0 && now.it_value.tv_nsec == 0, "timer %d was armed", index);
    } else {
        CHECK(now.it_value.tv_sec > before.it_value.tv_sec - 200 && now.it_value.tv_sec <= before.it_value.tv_sec,
              "timer %d: %ld s left", index, now.it_value.tv_sec);
    }
}
}  // namespace

ZDTM("POSIX timers of all clocks and kinds keep id, setting and time left") {
    const clockid_t clocks[] = {CLOCK_REALTIME, CLOCK_MONOTONIC, CLOCK_BOOTTIME, CLOCK_PROCESS_CPUTIME_ID,
                                CLOCK_THREAD_CPUTIME_ID};
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGRTMIN + 5);
    SYS(sigprocmask(SIG_BLOCK, &set, nullptr));
    std::vector<Timer> timers;
    for (int i = 0; i < 30; ++i) {
        Timer timer{};
        timer.clock = clocks[i % 5];
        timer.notify = i % 3 == 0 ? SIGEV_NONE : i % 3 == 1 ? SIGEV_SIGNAL : SIGEV_THREAD_ID;
        timer.signal = SIGRTMIN + 5;
        sigevent event{};
        event.sigev_notify = timer.notify;
        event.sigev_signo = timer.signal;
        event.sigev_value.sival_int = 1000 + i;
        if (timer.notify == SIGEV_THREAD_ID) {
            event._sigev_un._tid = gettid();
        }
        SYS(timer_create(timer.clock, &event, &timer.id));
        // Leaves every fourth timer unarmed.
        if (i % 4 != 3) {
            timer.setting = {{i, 500 + i}, {3000 + 10 * i, 0}};
            SYS(timer_settime(timer.id, 0, &timer.setting, nullptr));
        }
        timers.push_back(timer);
    }
    // Makes gaps between the ids.
    for (const std::size_t gone : {21, 20, 13, 4}) {
        SYS(timer_delete(timers[gone].id));
        timers.erase(timers.begin() + static_cast<std::ptrdiff_t>(gone));
    }
    me.wait_for_check();

    int index = 0;
    for (const Timer& timer : timers) {
        itimerspec now{};
        SYS(timer_gettime(timer.id, &now));
        require_same(timer.setting, now, index++);
    }
    // Requires a restored timer to send its signal.
    for (const Timer& timer : timers) {
        if (timer.notify != SIGEV_NONE && timer.clock == CLOCK_MONOTONIC) {
            const itimerspec soon{{0, 0}, {0, 1000000}};
            SYS(timer_settime(timer.id, 0, &soon, nullptr));
            siginfo_t info{};
            const timespec limit{zdtm::kPatience / 1000, 0};
            CHECK(sigtimedwait(&set, &info, &limit) == SIGRTMIN + 5, "the timer does not signal");
            CHECK(info.si_code == SI_TIMER && info.si_value.sival_int >= 1000, "code %d, value %d", info.si_code,
                  info.si_value.sival_int);
        }
        SYS(timer_delete(timer.id));
    }
}
