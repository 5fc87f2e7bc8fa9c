// SPDX-License-Identifier: GPL-2.0-only
#include <sys/wait.h>

#include "zdtm.hpp"

namespace {
volatile sig_atomic_t ends = 0;
volatile sig_atomic_t last_pid = 0;
volatile sig_atomic_t last_code = 0;
volatile sig_atomic_t last_status = 0;

void child_ended(int, siginfo_t* info, void*) {
    ends = ends + 1;
    last_pid = info->si_pid;
    last_code = info->si_code;
    last_status = info->si_status;
}
}  // namespace

ZDTM("SIGCHLD comes for children that end after the restore, and for none before") {
    struct sigaction action {};
    action.sa_sigaction = child_ended;
    action.sa_flags = SA_SIGINFO | SA_NOCLDSTOP | SA_RESTART;
    SYS(sigaction(SIGCHLD, &action, nullptr));
    const pid_t child = me.start_child([](zdtm::Task& task) {
        task.wait_for_check();
        _exit(7);
    });
    const pid_t stopped = me.start_child([](zdtm::Task& task) { task.wait_for_check(); });
    me.wait_for_check();

    CHECK(ends == 0, "SIGCHLD came from %d, code %d", last_pid, last_code);
    SYS(kill(stopped, SIGSTOP));
    int status = 0;
    CHECK(waitpid(stopped, &status, WUNTRACED) == stopped && WIFSTOPPED(status), "status 0x%x", status);
    CHECK(ends == 0, "SIGCHLD for a stop in spite of SA_NOCLDSTOP");
    SYS(kill(child, SIGTERM));
    status = zdtm::wait_status(child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 7, "status 0x%x", status);
    CHECK(ends == 1 && last_pid == child && last_code == CLD_EXITED && last_status == 7,
          "%d signals, last from %d, code %d, status %d", ends, last_pid, last_code, last_status);
    zdtm::kill_and_reap(stopped);
    CHECK(ends == 2 && last_pid == stopped && last_code == CLD_KILLED && last_status == SIGKILL,
          "%d signals, last from %d, code %d, status %d", ends, last_pid, last_code, last_status);
}
