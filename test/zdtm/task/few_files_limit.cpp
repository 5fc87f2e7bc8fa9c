// SPDX-License-Identifier: GPL-2.0-only
// zdtm: fails-with-4.2 it needs free descriptor numbers in the task
#include <fcntl.h>
#include <sys/resource.h>

#include "zdtm.hpp"

ZDTM("limits allow a task no further file, no locked memory and no core dump") {
    const rlimit nothing{0, 0};
    const rlimit few{8, 8};
    SYS(setrlimit(RLIMIT_NOFILE, &few));
    SYS(setrlimit(RLIMIT_MEMLOCK, &nothing));
    SYS(setrlimit(RLIMIT_CORE, &nothing));
    const int null = SYS(open("/dev/null", O_RDWR));
    for (int fd = null + 1; fd < 8; ++fd) {
        SYS(dup2(null, fd));
    }
    me.wait_for_check();
    CHECK(open("/dev/null", O_RDWR) == -1 && errno == EMFILE, "one more file: %s", strerror(errno));
}
