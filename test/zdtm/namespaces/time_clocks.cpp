// SPDX-License-Identifier: GPL-2.0-only
#include "clocks.hpp"
#include "zdtm.hpp"

ZDTM("clocks of a time namespace continue from the dump, by system call and by vDSO, in a child as well") {
    const zdtm::Clocks machine;
    zdtm::enter_new_time(500'000, 900'000);
    const zdtm::Clocks clocks;
    CHECK(clocks.monotonic() > machine.monotonic() + 400'000 * zdtm::second, "the namespace's clock isn't ahead");
    const pid_t child = me.start_child([&](zdtm::Task& task) {
        const zdtm::Clocks own;
        task.wait_for_check();
        own.check();
        clocks.check();
    });
    me.wait_for_check();
    clocks.check();
    me.finish(child);
    clocks.check();
}
