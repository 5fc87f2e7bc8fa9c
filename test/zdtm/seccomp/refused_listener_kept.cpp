// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes refused
// zdtm: refused (?=.*fd 3 of pid 2\b).*a seccomp listener.*\(start the program
// zdtm: fails-with-4.2 its message does not say so
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>

#include "seccomp.hpp"
#include "zdtm.hpp"

ZDTM("a dump refuses the listener of a seccomp filter, whose process has ended") {
    const int listener = static_cast<int>(SYS(syscall(SYS_eventfd2, 0, 0)));
    const pid_t child = SYS(static_cast<pid_t>(syscall(SYS_clone, CLONE_FILES | SIGCHLD, 0, 0, 0, 0)));
    if (child == 0) {
        const int made = static_cast<int>(
            zdtm::install_filter(SYS_getsid, SECCOMP_RET_USER_NOTIF, SECCOMP_FILTER_FLAG_NEW_LISTENER));
        _exit(made >= 0 && dup2(made, listener) == listener && close(made) == 0 ? 0 : 1);
    }
    CHECK(zdtm::wait_status(child) == 0, "the child can't install a filter");
    CHECK(listener == 3, "descriptor %d", listener);
    me.wait_for_check();
    SYS(close(listener));
}
