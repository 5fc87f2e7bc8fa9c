// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes once,to-other,from-other
// zdtm: between sleep 2
#include <ctime>

#include "clocks.hpp"
#include "zdtm.hpp"

ZDTM("monotonic clocks don't count the time between dump and restore, even without a time namespace") {
    const std::int64_t wall = zdtm::read_clock(CLOCK_REALTIME);
    const zdtm::Clocks clocks;
    me.wait_for_check();
    clocks.check();
    const std::int64_t passed = zdtm::read_clock(CLOCK_REALTIME) - wall;
    const std::int64_t counted = zdtm::read_clock(CLOCK_MONOTONIC) - clocks.monotonic();
    CHECK(passed >= 2 * zdtm::second, "the pause is missing: %ld ns", passed);
    CHECK(counted < passed - 2 * zdtm::second, "%ld ns of %ld were counted", counted, passed);
}
