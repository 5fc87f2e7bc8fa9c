// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes refused
// zdtm: refused a timer that wakes the machine
#include <time.h>

#include "threads.hpp"
#include "user_spaces.hpp"

ZDTM("a dump refuses a timer that wakes the machine in a nested user namespace with threads") {
    timer_t probe{};
    sigevent event{};
    event.sigev_notify = SIGEV_NONE;
    if (timer_create(CLOCK_BOOTTIME_ALARM, &event, &probe) != 0)
        zdtm::skip("no timers of CLOCK_BOOTTIME_ALARM here: %s", strerror(errno));
    const pid_t child = me.start_child([&event](zdtm::Task& task) {
        timer_t timer{};
        SYS(timer_create(CLOCK_BOOTTIME_ALARM, &event, &timer));
        zdtm::become_root_inside();
        zdtm::Threads threads(
            1, [](unsigned) {}, [](unsigned) {});
        threads.wait_arrived();
        task.wait_for_check();
        threads.finish();
    });
    me.wait_for_check();
    me.finish(child);
}
