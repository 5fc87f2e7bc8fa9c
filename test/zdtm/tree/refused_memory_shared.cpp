// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes refused
// zdtm: refused processes \d+ and \d+ share their memory \(CLONE_VM\)
#include <sched.h>

#include "zdtm.hpp"

namespace {

int partner(void*) {
    for (;;)
        pause();
}

}  // namespace

ZDTM("a dump refuses processes of the tree that share memory (CLONE_VM)") {
    constexpr std::size_t kStack = 65536;
    const auto stack = zdtm::map(kStack);
    const pid_t child = SYS(clone(partner, stack.data() + kStack, CLONE_VM | SIGCHLD, nullptr));
    me.wait_for_check();
    zdtm::kill_and_reap(child);
}
