// SPDX-License-Identifier: GPL-2.0-only
#include <sys/timerfd.h>

#include "zdtm.hpp"

ZDTM("an absolute timerfd with TFD_TIMER_CANCEL_ON_SET, and one that isn't armed") {
    const int file = SYS(timerfd_create(CLOCK_REALTIME, TFD_NONBLOCK));
    timespec now{};
    SYS(clock_gettime(CLOCK_REALTIME, &now));
    const itimerspec setting{{0, 0}, {now.tv_sec + 1000, 999'999'999}};
    SYS(timerfd_settime(file, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &setting, nullptr));
    const int stopped = SYS(timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK));
    const itimerspec never{{600, 5}, {0, 0}};
    SYS(timerfd_settime(stopped, TFD_TIMER_ABSTIME, &never, nullptr));
    const std::string info = "/proc/self/fdinfo/" + std::to_string(file);
    me.wait_for_check();

    CHECK(zdtm::status_field(info, "settime flags") == "03", "flags %s",
          zdtm::status_field(info, "settime flags").c_str());
    itimerspec left{};
    SYS(timerfd_gettime(file, &left));
    CHECK(left.it_value.tv_sec > 700 && left.it_value.tv_sec <= 1001, "%ld s left", left.it_value.tv_sec);
    std::uint64_t ticks = 0;
    CHECK(read(file, &ticks, sizeof ticks) == -1 && errno == EAGAIN, "%s", strerror(errno));
    const std::string stopped_info = "/proc/self/fdinfo/" + std::to_string(stopped);
    CHECK(zdtm::status_field(stopped_info, "settime flags") == "01", "flags %s",
          zdtm::status_field(stopped_info, "settime flags").c_str());
    SYS(timerfd_gettime(stopped, &left));
    CHECK(left.it_value.tv_sec == 0 && left.it_value.tv_nsec == 0, "the stopped timer was armed");
    CHECK(left.it_interval.tv_sec == 600 && left.it_interval.tv_nsec == 5, "interval %ld", left.it_interval.tv_sec);
}
