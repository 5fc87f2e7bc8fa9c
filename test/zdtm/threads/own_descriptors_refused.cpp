// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes refused
// zdtm: refused thread \d+ of process \d+ .* has a table of descriptors of its own \(CLONE_FILES\)
#include <fcntl.h>
#include <sched.h>

#include "threads.hpp"
#include "zdtm.hpp"

ZDTM("a dump refuses a thread with a private descriptor table") {
    int own = -1;
    zdtm::Threads threads(
        2,
        [&](unsigned index) {
            if (index == 1) {
                SYS(unshare(CLONE_FILES));
                own = SYS(open("/dev/null", O_RDONLY));
            }
        },
        [&](unsigned index) {
            if (index == 1)
                CHECK(fcntl(own, F_GETFD) != -1, "the thread's descriptor is gone: %s", strerror(errno));
        });
    me.wait_for_check();
    CHECK(fcntl(own, F_GETFD) == -1, "the descriptor is there for all");
    threads.finish();
}
