// SPDX-License-Identifier: GPL-2.0-only
// zdtm: fails-with-4.2 the task dies of SIGXFSZ, from a file that 4.2 makes for itself in it
#include <sys/resource.h>

#include "zdtm.hpp"

ZDTM("a limit of 600 bytes on file sizes (RLIMIT_FSIZE)") {
    const rlimit small{600, 600};
    SYS(setrlimit(RLIMIT_FSIZE, &small));
    me.wait_for_check();
    rlimit now{};
    SYS(getrlimit(RLIMIT_FSIZE, &now));
    CHECK(now.rlim_cur == 600 && now.rlim_max == 600, "%lu/%lu", now.rlim_cur, now.rlim_max);
}
