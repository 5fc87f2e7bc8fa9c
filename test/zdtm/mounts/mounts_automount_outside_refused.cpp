// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes refused
// zdtm: refused /mnt/auto \(autofs, mount [0-9]+\) is served by process group [0-9]+, of which no process .* has its pipe
#include <fcntl.h>
#include <sys/stat.h>

#include "mounts.hpp"
#include "zdtm.hpp"

ZDTM("a dump refuses an autofs if no process of its daemon's group has the pipe") {
    if (access("/dev/autofs", R_OK) < 0)
        zdtm::skip("the kernel has no autofs");
    zdtm::enter_new_mounts();
    zdtm::mount_on("/mnt", "tmpfs");
    SYS(mkdir("/mnt/auto", 0755));
    int ends[2];
    SYS(pipe2(ends, O_CLOEXEC));
    const pid_t daemon = me.start_child([&ends](zdtm::Task& task) {
        SYS(setpgid(0, 0));
        zdtm::mount_on(
            "/mnt/auto", "autofs",
            "fd=" + std::to_string(ends[1]) + ",pgrp=" + std::to_string(getpgrp()) + ",minproto=5,maxproto=5,indirect");
        SYS(close(ends[0]));
        SYS(close(ends[1]));
        task.wait_for_check();
    });
    me.wait_for_check();
    me.finish(daemon);
}
