// SPDX-License-Identifier: GPL-2.0-only
// zdtm: not-in restore-killed, restore-all-killed
// zdtm: fails-with-4.2 it takes the process for a zombie
#include <sys/wait.h>

#include "ended_leader.hpp"

ZDTM("a stopped process whose main thread has ended stays stopped, and continues by SIGCONT") {
    const pid_t child = me.start_child([](zdtm::Task& task) {
        zdtm::end_main_thread(0, [&task] {
            zdtm::await_main_end();
            task.wait_for_check();
        });
    });
    SYS(kill(child, SIGSTOP));
    siginfo_t info{};
    SYS(waitid(P_PID, static_cast<id_t>(child), &info, WSTOPPED | WNOWAIT));
    me.wait_for_check();
    const std::string state = zdtm::status_field("/proc/" + std::to_string(child) + "/status", "State");
    CHECK(state.front() == 'Z', "the main thread's state is %s", state.c_str());
    SYS(waitid(P_PID, static_cast<id_t>(child), &info, WSTOPPED | WNOHANG | WNOWAIT));
    CHECK(info.si_code == CLD_STOPPED && info.si_status == SIGSTOP, "it isn't stopped: %d", info.si_code);
    int status = 0;
    SYS(kill(child, SIGTERM));
    CHECK(waitpid(child, &status, WNOHANG) == 0, "it isn't stopped: it ended with %#x", status);
    SYS(kill(child, SIGCONT));
    status = zdtm::wait_status(child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0, "it ended with %#x", status);
}
