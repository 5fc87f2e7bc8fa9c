// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes refused
// zdtm: refused belongs to a user namespace other than that of the tree
#include "user_spaces.hpp"

ZDTM("a namespace that belongs to a user namespace below that of the tree is refused") {
    const pid_t child = me.start_child([](zdtm::Task& task) {
        SYS(unshare(CLONE_NEWUSER | CLONE_NEWUTS));
        task.wait_for_check();
        SYS(sethostname("inside", 6));
    });
    me.wait_for_check();
    me.finish(child);
}
