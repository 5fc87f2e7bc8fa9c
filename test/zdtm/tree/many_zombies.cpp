// SPDX-License-Identifier: GPL-2.0-only
#include <sys/wait.h>

#include <vector>

#include "zdtm.hpp"

ZDTM("40 zombies with various exit codes and signals") {
    std::vector<pid_t> children;
    for (int i = 0; i < 40; ++i) {
        const pid_t child = SYS(fork());
        if (child == 0) {
            if (i % 2 == 0) {
                _exit(i * 3);
            }
            raise(i % 4 == 1 ? SIGKILL : SIGUSR1);
            _exit(0);
        }
        siginfo_t info{};
        SYS(waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT));
        children.push_back(child);
    }
    me.wait_for_check();
    for (int i = 0; i < 40; ++i) {
        const int status = zdtm::wait_status(children[static_cast<std::size_t>(i)]);
        if (i % 2 == 0) {
            CHECK(WIFEXITED(status) && WEXITSTATUS(status) == i * 3, "child %d: status 0x%x", i, status);
        } else {
            CHECK(WIFSIGNALED(status) && WTERMSIG(status) == (i % 4 == 1 ? SIGKILL : SIGUSR1), "child %d: status 0x%x",
                  i, status);
        }
    }
}
