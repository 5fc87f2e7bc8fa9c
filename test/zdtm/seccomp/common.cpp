// SPDX-License-Identifier: GPL-2.0-only
#include <linux/seccomp.h>
#include <sys/syscall.h>

#include "seccomp.hpp"
#include "threads.hpp"
#include "zdtm.hpp"

ZDTM("filters that all threads share (SECCOMP_FILTER_FLAG_TSYNC) are still shared") {
    zdtm::Threads threads(
        5, [](unsigned) {},
        [](unsigned index) {
            CHECK(syscall(SYS_getsid, 0) == -1 && errno == 31, "thread %u: getsid: %s", index, strerror(errno));
            CHECK(syscall(SYS_getpgid, 0) == -1 && errno == 32, "thread %u: getpgid: %s", index, strerror(errno));
        });
    SYS(zdtm::deny(SYS_getsid, 31, SECCOMP_FILTER_FLAG_TSYNC));
    me.wait_for_check();
    const long refuser = zdtm::deny(SYS_getpgid, 32, SECCOMP_FILTER_FLAG_TSYNC);
    CHECK(refuser == 0, "thread %ld can't follow", refuser);
    threads.finish();
}
