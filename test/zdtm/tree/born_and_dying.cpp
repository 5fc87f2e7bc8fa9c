// SPDX-License-Identifier: GPL-2.0-only
// zdtm: ignore tree
#include <sys/wait.h>

#include "zdtm.hpp"

ZDTM("a process that forks all the time during the dump") {
    me.ready();
    unsigned count = 0;
    while (!me.triggered()) {
        const pid_t child = SYS(fork());
        if (child == 0) {
            _exit(static_cast<int>(count % 100));
        }
        const int status = zdtm::wait_status(child);
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == static_cast<int>(count % 100), "status 0x%x", status);
        ++count;
    }
    me.wait_trigger();
}
