// SPDX-License-Identifier: GPL-2.0-only
#include <sys/syscall.h>

#include "seccomp.hpp"
#include "threads.hpp"
#include "zdtm.hpp"

ZDTM("threads with private filters, and some without") {
    constexpr int first = 20;
    zdtm::Threads threads(
        6,
        [](unsigned index) {
            if (index % 2 == 0) {
                SYS(zdtm::deny(SYS_getsid, first + static_cast<int>(index)));
            }
        },
        [](unsigned index) {
            errno = 0;
            const long session = syscall(SYS_getsid, 0);
            if (index % 2 == 0) {
                CHECK(session == -1 && errno == first + static_cast<int>(index), "thread %u: %s", index,
                      strerror(errno));
            } else {
                CHECK(session > 0, "thread %u: %s", index, strerror(errno));
            }
        });
    me.wait_for_check();
    threads.finish();
    CHECK(getsid(0) > 0, "the first thread: %s", strerror(errno));
}
