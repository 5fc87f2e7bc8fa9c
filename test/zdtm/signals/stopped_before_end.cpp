// SPDX-License-Identifier: GPL-2.0-only
// zdtm: ignore thread \d+ ShdPnd
// zdtm: fails-with-4.2 its restore ends the stopped child
#include <sys/wait.h>

#include <csignal>

#include "threads.hpp"
#include "zdtm.hpp"

ZDTM("a stopped process with a fatal pending signal stays stopped until SIGCONT") {
    const pid_t child = me.start_child([](zdtm::Task& task) {
        std::signal(SIGHUP, SIG_DFL);  // may be ignored where the tests run
        const zdtm::Threads threads(
            2, [](unsigned) {}, [](unsigned) {});
        task.wait_for_check();
    });
    SYS(kill(child, SIGSTOP));
    int status = 0;
    SYS(waitpid(child, &status, WUNTRACED));
    SYS(kill(child, SIGUSR1));
    // The kernel delivers the lowest number first, so SIGHUP would end the child.
    SYS(kill(child, SIGHUP));
    me.wait_for_check();

    CHECK(waitpid(child, &status, WNOHANG) == 0, "it has ended: status 0x%x", status);
    const std::string path = "/proc/" + std::to_string(child) + "/status";
    CHECK(zdtm::status_field(path, "State")[0] == 'T', "state %s", zdtm::status_field(path, "State").c_str());
    SYS(kill(child, SIGCONT));
    SYS(waitpid(child, &status, 0));
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGHUP, "status 0x%x", status);
}
