// SPDX-License-Identifier: GPL-2.0-only
// zdtm: also new-pidns, new-pidns-again, all-killed, background-all-killed, pre-dump-killed
#include <sys/wait.h>

#include "zdtm.hpp"

ZDTM("zombies keep their exit code or the signal that killed them") {
    const pid_t exited = SYS(fork());
    if (exited == 0) {
        _exit(42);
    }
    const pid_t killed = SYS(fork());
    if (killed == 0) {
        pause();
        _exit(1);
    }
    SYS(kill(killed, SIGKILL));
    // Waits until both have ended, without reaping them.
    siginfo_t info{};
    SYS(waitid(P_PID, static_cast<id_t>(exited), &info, WEXITED | WNOWAIT));
    SYS(waitid(P_PID, static_cast<id_t>(killed), &info, WEXITED | WNOWAIT));
    me.wait_for_check();

    int status = zdtm::wait_status(exited);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 42, "status 0x%x", status);
    status = zdtm::wait_status(killed);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL, "status 0x%x", status);
    CHECK(waitpid(-1, &status, WNOHANG) == -1 && errno == ECHILD, "more children than before");
}
