// SPDX-License-Identifier: GPL-2.0-only
// zdtm: fails-with-4.2 a periodic timer that has gone off unread stands still after the restore
#include <sys/timerfd.h>

#include "zdtm.hpp"

ZDTM("timerfds that expired before the dump keep their ticks, and a periodic one goes on") {
    const int once = SYS(timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK));
    const int periodic = SYS(timerfd_create(CLOCK_MONOTONIC, 0));
    const itimerspec soon{{0, 0}, {0, 1'000'000}};
    const itimerspec often{{0, 20'000'000}, {0, 1'000'000}};
    SYS(timerfd_settime(once, 0, &soon, nullptr));
    SYS(timerfd_settime(periodic, 0, &often, nullptr));
    usleep(110'000);
    me.wait_for_check();

    std::uint64_t ticks = 0;
    CHECK(read(once, &ticks, sizeof ticks) == sizeof ticks && ticks == 1, "%lu ticks", ticks);
    CHECK(read(once, &ticks, sizeof ticks) == -1 && errno == EAGAIN, "it has gone off twice");
    CHECK(read(periodic, &ticks, sizeof ticks) == sizeof ticks && ticks >= 5, "%lu ticks", ticks);
    for (int i = 0; i < 3; ++i) {
        CHECK(read(periodic, &ticks, sizeof ticks) == sizeof ticks && ticks >= 1, "%s", strerror(errno));
    }
}
