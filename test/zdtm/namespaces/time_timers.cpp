// SPDX-License-Identifier: GPL-2.0-only
#include <poll.h>
#include <sys/timerfd.h>

#include <ctime>

#include "clocks.hpp"
#include "patience.hpp"
#include "zdtm.hpp"

namespace {

constexpr int far = 300;  // seconds; longer than the test
constexpr int soon = 6;

itimerspec after(int clock, int seconds) {
    itimerspec setting{};
    setting.it_value.tv_sec = zdtm::read_clock(clock) / zdtm::second + seconds;
    return setting;
}

int timer_descriptor(int clock, int seconds) {
    const int fd = SYS(timerfd_create(clock, 0));
    const itimerspec setting = after(clock, seconds);
    SYS(timerfd_settime(fd, TFD_TIMER_ABSTIME, &setting, nullptr));
    return fd;
}

void check_left(const itimerspec& left) {
    CHECK(left.it_value.tv_sec > far - 120 && left.it_value.tv_sec <= far, "%ld s are left", left.it_value.tv_sec);
}

void check_descriptor(int fd) {
    itimerspec left{};
    SYS(timerfd_gettime(fd, &left));
    check_left(left);
}

}  // namespace

ZDTM("absolute timers of a time namespace expire at their time, not before and not much later") {
    zdtm::enter_new_time(500'000, 900'000);
    const int monotonic = timer_descriptor(CLOCK_MONOTONIC, far);
    const int boottime = timer_descriptor(CLOCK_BOOTTIME, far);
    const int early = timer_descriptor(CLOCK_MONOTONIC, soon);
    const std::int64_t due = zdtm::read_clock(CLOCK_MONOTONIC) / zdtm::second + soon - 1;
    timer_t timer{};
    sigevent silent{};
    silent.sigev_notify = SIGEV_NONE;
    SYS(timer_create(CLOCK_MONOTONIC, &silent, &timer));
    const itimerspec setting = after(CLOCK_MONOTONIC, far);
    SYS(timer_settime(timer, TIMER_ABSTIME, &setting, nullptr));
    me.wait_for_check();
    check_descriptor(monotonic);
    check_descriptor(boottime);
    itimerspec left{};
    SYS(timer_gettime(timer, &left));
    check_left(left);
    pollfd entry{early, POLLIN, 0};
    CHECK(poll(&entry, 1, zdtm::kPatience) == 1, "the timer doesn't expire");
    CHECK(zdtm::read_clock(CLOCK_MONOTONIC) / zdtm::second >= due, "the timer has expired too early");
}
