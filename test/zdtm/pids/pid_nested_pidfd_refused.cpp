// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes refused
// zdtm: refused is also open in process [0-9]+, whose pid namespace doesn't see process
#include <poll.h>
#include <sys/syscall.h>

#include "nested_pids.hpp"

ZDTM("a dump refuses a pidfd that a process of a nested pid namespace has inherited") {
    const int self = SYS(static_cast<int>(syscall(SYS_pidfd_open, getpid(), 0)));
    const pid_t first = zdtm::start_first(me, [self](zdtm::Task& task) {
        task.wait_for_check();
        pollfd ended{self, POLLIN, 0};
        CHECK(poll(&ended, 1, 0) == 0, "the pidfd says that its process has ended");
    });
    me.wait_for_check();
    me.finish(first);
}
