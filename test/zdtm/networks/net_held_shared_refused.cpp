// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes refused
// zdtm: strangers yes
// zdtm: refused fd \d+.*in it, too, which isn't part of the tree
// zdtm: fails-with-4.2 knows only namespaces that processes are in
#include <fcntl.h>
#include <sched.h>

#include "network.hpp"
#include "outsiders.hpp"
#include "zdtm.hpp"

ZDTM("a dump refuses a descriptor of a network namespace that only a process outside of the tree is in") {
    zdtm::enter_new_network();
    const int home = SYS(open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC));
    zdtm::enter_new_network();
    const int held = SYS(open("/proc/self/ns/net", O_RDONLY));
    const pid_t outsider = zdtm::leave_outsider();
    SYS(setns(home, CLONE_NEWNET));
    me.wait_for_check();
    SYS(kill(outsider, SIGKILL));
    SYS(close(held));
}
