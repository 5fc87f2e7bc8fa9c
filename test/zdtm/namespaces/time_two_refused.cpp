// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes refused
// zdtm: refused another time namespace than the root
#include "clocks.hpp"
#include "zdtm.hpp"

ZDTM("a child in a time namespace of its own is refused") {
    const pid_t child = me.start_child([](zdtm::Task& task) {
        zdtm::enter_new_time(1, 1);
        task.wait_for_check();
    });
    me.wait_for_check();
    me.finish(child);
}
