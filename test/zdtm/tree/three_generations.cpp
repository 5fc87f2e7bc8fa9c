// SPDX-License-Identifier: GPL-2.0-only
// zdtm: also new-pidns, new-pidns-again, new-pidns-failed, all-killed
#include <vector>

#include "zdtm.hpp"

ZDTM("three generations of processes keep their pids and parents") {
    const pid_t self = getpid();
    std::vector<pid_t> children;
    for (int i = 0; i < 3; ++i) {
        children.push_back(me.start_child([self](zdtm::Task& child) {
            const pid_t middle = getpid();
            std::vector<pid_t> grandchildren;
            for (int k = 0; k < 2; ++k) {
                grandchildren.push_back(child.start_child([middle](zdtm::Task& grandchild) {
                    const pid_t own = getpid();
                    grandchild.wait_for_check();
                    CHECK(getpid() == own, "pid was %d, is %d", own, getpid());
                    CHECK(getppid() == middle, "parent was %d, is %d", middle, getppid());
                }));
            }
            child.wait_for_check();
            CHECK(getpid() == middle, "pid was %d, is %d", middle, getpid());
            CHECK(getppid() == self, "parent was %d, is %d", self, getppid());
            for (const pid_t grandchild : grandchildren) {
                child.finish(grandchild);
            }
        }));
    }
    me.wait_for_check();
    CHECK(getpid() == self, "pid was %d, is %d", self, getpid());
    for (const pid_t child : children) {
        me.finish(child);
    }
}
