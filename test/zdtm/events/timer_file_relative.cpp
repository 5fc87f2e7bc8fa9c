// SPDX-License-Identifier: GPL-2.0-only
#include <sys/timerfd.h>

#include "zdtm.hpp"

ZDTM("timerfds keep clock, time left and interval") {
    constexpr clockid_t clocks[] = {CLOCK_REALTIME, CLOCK_MONOTONIC, CLOCK_BOOTTIME};
    int files[3];
    for (int i = 0; i < 3; ++i) {
        files[i] = SYS(timerfd_create(clocks[i], TFD_NONBLOCK));
        const itimerspec setting{{500 + i, 5}, {1000 + i, 7}};
        SYS(timerfd_settime(files[i], 0, &setting, nullptr));
    }
    const int disarmed = SYS(timerfd_create(CLOCK_MONOTONIC, 0));
    me.wait_for_check();

    for (int i = 0; i < 3; ++i) {
        itimerspec left{};
        SYS(timerfd_gettime(files[i], &left));
        CHECK(left.it_interval.tv_sec == 500 + i && left.it_interval.tv_nsec == 5, "interval %ld",
              left.it_interval.tv_sec);
        CHECK(left.it_value.tv_sec > 700 + i && left.it_value.tv_sec <= 1000 + i, "%ld s left", left.it_value.tv_sec);
        const std::string clock = zdtm::status_field("/proc/self/fdinfo/" + std::to_string(files[i]), "clockid");
        CHECK(clock == std::to_string(clocks[i]), "clock %s", clock.c_str());
        std::uint64_t ticks = 0;
        CHECK(read(files[i], &ticks, sizeof ticks) == -1 && errno == EAGAIN, "it has gone off");
    }
    itimerspec left{};
    SYS(timerfd_gettime(disarmed, &left));
    CHECK(left.it_value.tv_sec == 0 && left.it_value.tv_nsec == 0, "the unused timer is armed");
}
