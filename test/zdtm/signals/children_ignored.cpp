// SPDX-License-Identifier: GPL-2.0-only
#include <sys/wait.h>

#include "zdtm.hpp"

ZDTM("with SA_NOCLDWAIT, children that end after the restore leave no zombies") {
    struct sigaction action {};
    action.sa_handler = SIG_DFL;
    action.sa_flags = SA_NOCLDWAIT;
    SYS(sigaction(SIGCHLD, &action, nullptr));
    const pid_t child = me.start_child([](zdtm::Task& task) { task.wait_for_check(); });
    me.wait_for_check();

    SYS(kill(child, SIGTERM));
    CHECK(waitpid(child, nullptr, 0) == -1 && errno == ECHILD, "there is a child to wait for");
}
