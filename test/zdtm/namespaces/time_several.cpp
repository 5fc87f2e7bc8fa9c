// SPDX-License-Identifier: GPL-2.0-only
// zdtm: fails-with-4.2 it restores one time namespace only
#include <sys/timerfd.h>

#include <ctime>

#include "clocks.hpp"
#include "zdtm.hpp"

namespace {

constexpr std::int64_t hour = 3600;

// Returns by how many hours this process' clock is ahead of `before`.
std::int64_t hours_ahead(std::int64_t before) {
    return (zdtm::read_clock(CLOCK_MONOTONIC) - before) / (hour * zdtm::second);
}

}  // namespace

ZDTM("children in private time namespaces keep their clocks; one has a timer and a child in a further namespace") {
    const zdtm::Clocks machine;
    const pid_t first = me.start_child([&](zdtm::Task& task) {
        zdtm::enter_new_time(100 * hour, 200 * hour);
        const zdtm::Clocks clocks;
        const int timer = SYS(timerfd_create(CLOCK_MONOTONIC, 0));
        itimerspec setting{};
        setting.it_value.tv_sec = clocks.monotonic() / zdtm::second + 300;
        SYS(timerfd_settime(timer, TFD_TIMER_ABSTIME, &setting, nullptr));
        const pid_t below = task.start_child([&](zdtm::Task& inner) {
            zdtm::enter_new_time(1000 * hour, 1000 * hour);
            const zdtm::Clocks own;
            inner.wait_for_check();
            own.check();
            CHECK(hours_ahead(machine.monotonic()) == 1000, "it is %ld hours ahead", hours_ahead(machine.monotonic()));
        });
        const pid_t same = task.start_child([&](zdtm::Task& inner) {
            inner.wait_for_check();
            clocks.check();
        });
        task.wait_for_check();
        clocks.check();
        CHECK(hours_ahead(machine.monotonic()) == 100, "it is %ld hours ahead", hours_ahead(machine.monotonic()));
        itimerspec left{};
        SYS(timerfd_gettime(timer, &left));
        CHECK(left.it_value.tv_sec > 180 && left.it_value.tv_sec <= 300, "%ld s are left", left.it_value.tv_sec);
        task.finish(below);
        task.finish(same);
    });
    me.wait_for_check();
    machine.check();
    me.finish(first);
}
