// SPDX-License-Identifier: GPL-2.0-only
#include <fcntl.h>
#include <sched.h>
#include <sys/syscall.h>

#include "zdtm.hpp"

ZDTM("a child that shares the descriptor table (CLONE_FILES)") {
    const std::span<std::byte> memory =
        zdtm::map(zdtm::page_size(), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS);
    auto* const shared = reinterpret_cast<volatile int*>(memory.data());
    const pid_t child = static_cast<pid_t>(SYS(syscall(SYS_clone, CLONE_FILES | SIGCHLD, 0, 0, 0, 0)));
    if (child == 0) {
        me.wait_trigger();
        // The child must see the file that the parent opens after the restore.
        CHECK(fcntl(shared[0], F_GETFD) >= 0, "descriptor %d: %s", shared[0], strerror(errno));
        shared[1] = SYS(open("/dev/zero", O_RDONLY));
        _exit(0);
    }
    me.wait_for_check();
    shared[0] = SYS(open("/dev/null", O_RDONLY));
    me.finish(child);
    CHECK(fcntl(shared[1], F_GETFD) >= 0, "descriptor %d: %s", shared[1], strerror(errno));
}
