// SPDX-License-Identifier: GPL-2.0-only
// zdtm: fails-with-4.2 threads keep what they have in common only if they differ in nothing
#include <linux/seccomp.h>
#include <sys/syscall.h>

#include "seccomp.hpp"
#include "threads.hpp"
#include "zdtm.hpp"

ZDTM("a thread adds a filter to the shared ones, which stay shared") {
    zdtm::Threads threads(
        3,
        [](unsigned index) {
            if (index == 0) {
                SYS(zdtm::deny(SYS_getsid, 31, SECCOMP_FILTER_FLAG_TSYNC));
            }
        },
        [](unsigned index) {
            CHECK(syscall(SYS_getsid, 0) == -1 && errno == 31, "thread %u: getsid: %s", index, strerror(errno));
        });
    SYS(zdtm::deny(SYS_getppid, 33));
    me.wait_for_check();
    const long refuser = zdtm::deny(SYS_getpgid, 32, SECCOMP_FILTER_FLAG_TSYNC);
    CHECK(refuser == 0, "thread %ld can't follow", refuser);
    threads.finish();
    CHECK(syscall(SYS_getppid) == -1 && errno == 33, "getppid: %s", strerror(errno));
    CHECK(syscall(SYS_getsid, 0) == -1 && errno == 31, "getsid: %s", strerror(errno));
}
