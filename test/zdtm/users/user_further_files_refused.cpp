// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes refused
// zdtm: refused shares its descriptors with .*, and is in a user namespace other than that of the tree
#include <sched.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "user_spaces.hpp"

ZDTM("a dump refuses a process in a nested user namespace that shares its descriptor table") {
    pid_t others[3];
    for (pid_t& other : others) {
        other = me.start_child([](zdtm::Task& task) {
            SYS(unshare(CLONE_NEWUSER));
            task.wait_for_check();
        });
    }
    int ready[2];
    int end[2];
    SYS(pipe2(ready, O_CLOEXEC));
    SYS(pipe2(end, O_CLOEXEC));
    const auto child = static_cast<pid_t>(SYS(syscall(SYS_clone, CLONE_FILES | SIGCHLD, 0, 0, 0, 0)));
    char byte = 0;
    if (child == 0) {
        SYS(unshare(CLONE_NEWUSER));
        SYS(write(ready[1], &byte, 1));
        SYS(read(end[0], &byte, 1));
        _exit(0);
    }
    SYS(read(ready[0], &byte, 1));
    me.wait_for_check();
    SYS(write(end[1], &byte, 1));
    int status = 0;
    CHECK(SYS(waitpid(child, &status, 0)) == child && status == 0, "the child ended with %#x", status);
    for (const pid_t other : others) {
        me.finish(other);
    }
}
