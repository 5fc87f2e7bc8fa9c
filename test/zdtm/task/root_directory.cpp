// SPDX-License-Identifier: GPL-2.0-only
#include <sys/stat.h>

#include "zdtm.hpp"

ZDTM("a task with a changed root (chroot)") {
    SYS(mkdir("jail", 0755));
    SYS(mkdir("jail/inner", 0755));
    zdtm::write_file("jail/inner/file", "inside");
    const pid_t child = me.start_child([](zdtm::Task& task) {
        SYS(chroot("jail"));
        SYS(chdir("/inner"));
        task.wait_for_check();
        CHECK(zdtm::read_file("/inner/file") == "inside", "the root is another");
        CHECK(zdtm::read_file("file") == "inside", "the working directory is another");
        CHECK(access("/proc", F_OK) != 0, "the task is out of its root");
    });
    me.wait_for_check();
    CHECK(access("jail/inner/file", F_OK) == 0 && access("/proc/self", F_OK) == 0, "the parent's root changed");
    me.finish(child);
}
