// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes refused
// zdtm: refused another ipc namespace than the root
#include <sched.h>

#include "zdtm.hpp"

ZDTM("a child in an IPC namespace of its own is refused") {
    const pid_t child = me.start_child([](zdtm::Task& task) {
        SYS(unshare(CLONE_NEWIPC));
        task.wait_for_check();
    });
    me.wait_for_check();
    me.finish(child);
}
