// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes refused
// zdtm: refused shows a pid namespace below that of the root of the tree
#include <sched.h>

#include "mounts.hpp"
#include "nested_pids.hpp"

ZDTM("a proc file system that shows a pid namespace below that of the tree's root is refused") {
    zdtm::enter_new_mounts();
    const pid_t first = zdtm::start_first(me, [](zdtm::Task& task) {
        SYS(unshare(CLONE_NEWNS));
        zdtm::mount_on("/proc", "proc");
        task.wait_for_check();
        char self[16] = {};
        SYS(readlink("/proc/self", self, sizeof(self) - 1));
        CHECK(std::string(self) == "1", "/proc shows %s", self);
    });
    me.wait_for_check();
    me.finish(first);
}
