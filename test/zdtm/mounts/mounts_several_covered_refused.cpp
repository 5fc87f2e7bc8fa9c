// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes refused
// zdtm: refused lies on a mount that another covers in a further mount namespace
#include <fcntl.h>
#include <sched.h>

#include "mounts.hpp"
#include "zdtm.hpp"

ZDTM("a dump refuses an open file on a covered mount of a non-root mount namespace") {
    zdtm::enter_new_mounts();
    zdtm::mount_on("/mnt", "tmpfs");
    const pid_t child = me.start_child([](zdtm::Task& task) {
        SYS(unshare(CLONE_NEWNS));
        zdtm::mount_on("/mnt/own", "tmpfs");
        const int file = SYS(open("/mnt/own/file", O_RDWR | O_CREAT | O_EXCL, 0600));
        zdtm::mount_on("/mnt/own", "tmpfs");
        task.wait_for_check();
        SYS(write(file, "x", 1));
    });
    me.wait_for_check();
    me.finish(child);
}
