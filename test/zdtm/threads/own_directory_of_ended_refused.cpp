// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes refused
// zdtm: refused its working directory is that of a process in /proc that has ended
#include <sched.h>

#include "threads.hpp"
#include "zdtm.hpp"

ZDTM("a dump refuses a thread whose private working directory is that of an ended process in /proc") {
    const pid_t child = SYS(fork());
    if (child == 0)
        pause();
    zdtm::Threads threads(
        1,
        [&](unsigned) {
            SYS(unshare(CLONE_FS));
            SYS(chdir(("/proc/" + std::to_string(child)).c_str()));
            zdtm::kill_and_reap(child);
        },
        [](unsigned) { CHECK(access("status", F_OK) == -1, "there is a process"); });
    me.wait_for_check();
    threads.finish();
}
