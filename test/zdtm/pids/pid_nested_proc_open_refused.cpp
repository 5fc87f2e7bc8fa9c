// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes refused
// zdtm: refused lies on a proc file system of a pid namespace below that of the root of the tree
#include <fcntl.h>
#include <sched.h>

#include "mounts.hpp"
#include "nested_pids.hpp"

ZDTM("a dump refuses an open file in a proc mount of a nested pid namespace") {
    zdtm::enter_new_mounts();
    const pid_t first = zdtm::start_first(me, [](zdtm::Task& task) {
        SYS(unshare(CLONE_NEWNS));
        zdtm::mount_on("/proc", "proc");
        const int file = SYS(open("/proc/1/stat", O_RDONLY | O_CLOEXEC));
        task.wait_for_check();
        char byte = 0;
        CHECK(read(file, &byte, 1) == 1 && byte == '1', "%s", strerror(errno));
    });
    me.wait_for_check();
    me.finish(first);
}
