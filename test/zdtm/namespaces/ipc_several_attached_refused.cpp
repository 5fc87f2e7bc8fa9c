// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes refused
// zdtm: refused others can't be dumped
#include <sched.h>

#include "sysv_shm.hpp"
#include "zdtm.hpp"

ZDTM("a dump refuses shared memory of another IPC namespace than the one of the process that has it attached") {
    SYS(unshare(CLONE_NEWIPC));
    const std::size_t size = zdtm::page_size();
    const std::span<std::byte> memory = zdtm::attach(SYS(shmget(IPC_PRIVATE, size, IPC_CREAT | 0600)), size);
    zdtm::fill(memory, 1);
    const pid_t child = me.start_child([&](zdtm::Task& task) {
        SYS(unshare(CLONE_NEWIPC));
        task.wait_for_check();
        CHECK(zdtm::first_difference(memory, 1) < 0, "the memory changed");
    });
    me.wait_for_check();
    me.finish(child);
}
