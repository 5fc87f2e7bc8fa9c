// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes refused
// zdtm: strangers yes
// zdtm: refused process \d+ shares its memory with process \d+, which isn't in the tree
#include <linux/sched.h>
#include <sched.h>
#include <sys/wait.h>

#include <atomic>

#include "zdtm.hpp"

namespace {

std::atomic<int> wanted{0};
std::atomic<int> counted{0};

int partner(void*) {
    while (wanted >= 0) {
        counted = wanted.load();
        sched_yield();
    }
    counted = -1;
    _exit(0);
}

}  // namespace

ZDTM("a dump refuses a process that shares its memory with a process outside of the tree") {
    // The sibling is outside of the tree: a child of the root's parent.
    constexpr std::size_t kStack = 65536;
    const auto stack = zdtm::map(kStack);
    SYS(clone(partner, stack.data() + kStack, CLONE_VM | CLONE_PARENT | SIGCHLD, nullptr));
    wanted = 1;
    while (counted != 1) {
        sched_yield();
    }
    me.wait_for_check();

    wanted = 2;
    while (counted != 2) {
        sched_yield();
    }
    wanted = -1;
    while (counted != -1) {
        sched_yield();
    }
}
