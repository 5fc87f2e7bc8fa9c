// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes refused
// zdtm: refused refers to a namespace that the tree isn't in, or not as a whole
#include <fcntl.h>
#include <sched.h>
#include <sys/stat.h>

#include "mounts.hpp"
#include "zdtm.hpp"

ZDTM("a dump refuses a descriptor of the parent's mount namespace in a process of another one") {
    zdtm::enter_new_mounts();
    const pid_t child = me.start_child([](zdtm::Task& task) {
        const int space = SYS(open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC));
        SYS(unshare(CLONE_NEWNS));
        task.wait_for_check();
        struct stat opened {};
        struct stat own {};
        SYS(fstat(space, &opened));
        SYS(stat("/proc/self/ns/mnt", &own));
        CHECK(opened.st_ino != own.st_ino, "it refers to the own namespace");
    });
    me.wait_for_check();
    me.finish(child);
}
