// SPDX-License-Identifier: GPL-2.0-only
#include <sys/prctl.h>

#include "zdtm.hpp"

// After a restore that doesn't wait criu is the parent, and ends.
ZDTM("the parent-death signal of the root isn't sent when criu ends") {
    SYS(prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0));
    me.wait_for_check();
    int number = -1;
    SYS(prctl(PR_GET_PDEATHSIG, &number, 0, 0, 0));
    CHECK(number == SIGKILL || number == 0, "signal %d", number);
}
