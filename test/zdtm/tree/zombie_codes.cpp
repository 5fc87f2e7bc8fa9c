// SPDX-License-Identifier: GPL-2.0-only
// zdtm: fails-with-4.2 it loses the highest bit of an exit code
#include <sys/wait.h>

#include "zdtm.hpp"

ZDTM("zombies with exit codes above 127") {
    pid_t children[3] = {};
    constexpr int codes[] = {128, 137, 255};
    for (unsigned i = 0; i < 3; ++i) {
        children[i] = SYS(fork());
        if (children[i] == 0) {
            _exit(codes[i]);
        }
        siginfo_t info{};
        SYS(waitid(P_PID, static_cast<id_t>(children[i]), &info, WEXITED | WNOWAIT));
    }
    me.wait_for_check();
    for (unsigned i = 0; i < 3; ++i) {
        const int status = zdtm::wait_status(children[i]);
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == codes[i], "child %u: status 0x%x", i, status);
    }
}
