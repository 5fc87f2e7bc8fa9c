// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes refused
// zdtm: refused has its children in other namespaces than its own, and is in a user namespace
#include "user_spaces.hpp"

ZDTM("a dump refuses a pid namespace for children that belongs to a nested user namespace") {
    const pid_t child = me.start_child([](zdtm::Task& task) {
        SYS(unshare(CLONE_NEWUSER | CLONE_NEWPID));
        task.wait_for_check();
    });
    me.wait_for_check();
    me.finish(child);
}
