// SPDX-License-Identifier: GPL-2.0-only
// zdtm: also all-killed
// zdtm: ignore thread \d+ ShdPnd
#include <sys/wait.h>

#include "threads.hpp"
#include "zdtm.hpp"

ZDTM("stopped children, one with threads, stay stopped until SIGCONT") {
    const pid_t simple = me.start_child([](zdtm::Task& task) { task.wait_for_check(); });
    const pid_t threaded = me.start_child([](zdtm::Task& task) {
        zdtm::Threads threads(
            5, [](unsigned) {}, [](unsigned) {});
        task.wait_for_check();
        threads.finish();
    });
    for (const pid_t child : {simple, threaded}) {
        SYS(kill(child, SIGSTOP));
        const int status = [&] {
            int value = 0;
            SYS(waitpid(child, &value, WUNTRACED));
            return value;
        }();
        CHECK(WIFSTOPPED(status), "status 0x%x", status);
    }
    me.wait_for_check();

    for (const pid_t child : {simple, threaded}) {
        const std::string path = "/proc/" + std::to_string(child) + "/status";
        CHECK(zdtm::status_field(path, "State")[0] == 'T', "state %s", zdtm::status_field(path, "State").c_str());
        SYS(kill(child, SIGCONT));
        int status = 0;
        CHECK(waitpid(child, &status, WCONTINUED) == child && WIFCONTINUED(status), "status 0x%x", status);
        me.finish(child);
    }
}
