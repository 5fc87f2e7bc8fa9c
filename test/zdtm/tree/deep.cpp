// SPDX-License-Identifier: GPL-2.0-only
#include "zdtm.hpp"

namespace {
void descend(zdtm::Task& task, int levels) {
    if (levels == 0) {
        task.wait_for_check();
        return;
    }
    const pid_t parent = getppid();
    const pid_t child = task.start_child([levels](zdtm::Task& next) { descend(next, levels - 1); });
    task.wait_for_check();
    CHECK(getppid() == parent, "parent was %d, is %d", parent, getppid());
    task.finish(child);
}
}  // namespace

ZDTM("a tree 30 generations deep") {
    descend(me, 30);
}
