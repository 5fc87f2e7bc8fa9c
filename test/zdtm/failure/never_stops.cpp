// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes refused
// zdtm: dump-options --timeout 2
// zdtm: refused (pid|process) 3\b
// zdtm: fails-with-4.2 its message names no pid
#include "zdtm.hpp"

ZDTM("a dump times out because a task sleeps in vfork(2) and can't be stopped") {
    const pid_t child = SYS(fork());
    if (child == 0) {
        // The child sleeps in vfork() until the grandchild ends. A stop signal doesn't interrupt it.
        const pid_t grandchild = vfork();
        if (grandchild == 0) {
            sigset_t set;
            sigemptyset(&set);
            sigaddset(&set, SIGTERM);
            while (sigwaitinfo(&set, nullptr) < 0) {
            }
            _exit(0);
        }
        _exit(grandchild > 0 && zdtm::wait_status(grandchild) == 0 ? 0 : 1);
    }
    const std::string children = "/proc/" + std::to_string(child) + "/task/" + std::to_string(child) + "/children";
    while (zdtm::read_file(children).empty()) {
        usleep(1000);
    }
    const pid_t grandchild = std::stoi(zdtm::read_file(children));
    me.wait_for_check();
    SYS(kill(grandchild, SIGTERM));
    CHECK(zdtm::wait_status(child) == 0, "the child failed");
}
