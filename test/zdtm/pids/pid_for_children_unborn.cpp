// SPDX-License-Identifier: GPL-2.0-only
// zdtm: fails-with-4.2 it makes no pid namespaces for children
#include <sched.h>

#include "zdtm.hpp"

ZDTM("a process whose next child is the init of a new pid namespace") {
    SYS(unshare(CLONE_NEWPID));
    me.wait_for_check();
    char text[64] = {};
    CHECK(readlink("/proc/self/ns/pid_for_children", text, sizeof(text)) < 0 && errno == ENOENT, "%s", text);
    const pid_t child = SYS(fork());
    if (child == 0)
        _exit(getpid() == 1 && getppid() == 0 ? 0 : 1);
    CHECK(zdtm::wait_status(child) == 0, "the child isn't the first process of a namespace");
}
