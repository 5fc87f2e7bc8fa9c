// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes refused
// zdtm: strangers yes
// zdtm: refused in it, too, which isn't part of the tree
#include "network.hpp"
#include "outsiders.hpp"
#include "zdtm.hpp"

ZDTM("a dump refuses a child's network namespace that a process outside of the tree is in") {
    const pid_t child = me.start_child([](zdtm::Task& task) {
        zdtm::enter_new_network();
        const pid_t outsider = zdtm::leave_outsider();
        task.wait_for_check();
        SYS(kill(outsider, SIGKILL));
    });
    me.wait_for_check();
    me.finish(child);
}
