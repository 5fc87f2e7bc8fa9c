// SPDX-License-Identifier: GPL-2.0-only
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "seccomp.hpp"
#include "zdtm.hpp"

ZDTM("inherited filters with no_new_privs, and a process with filters of its own") {
    SYS(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
    SYS(zdtm::deny(SYS_getsid, 40));
    const pid_t plain = me.start_child([](zdtm::Task& child) {
        child.wait_for_check();
        CHECK(syscall(SYS_getsid, 0) == -1 && errno == 40, "getsid: %s", strerror(errno));
        CHECK(syscall(SYS_getpgid, 0) > 0, "getpgid: %s", strerror(errno));
        CHECK(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1, "no_new_privs was lost");
    });
    const pid_t more = me.start_child([](zdtm::Task& child) {
        SYS(zdtm::deny(SYS_getpgid, 41));
        child.wait_for_check();
        CHECK(syscall(SYS_getsid, 0) == -1 && errno == 40, "getsid: %s", strerror(errno));
        CHECK(syscall(SYS_getpgid, 0) == -1 && errno == 41, "getpgid: %s", strerror(errno));
    });
    me.wait_for_check();
    CHECK(syscall(SYS_getsid, 0) == -1 && errno == 40, "getsid: %s", strerror(errno));
    CHECK(syscall(SYS_getpgid, 0) > 0, "getpgid: %s", strerror(errno));
    me.finish(plain);
    me.finish(more);
}
