// SPDX-License-Identifier: GPL-2.0-only
// zdtm: ignore thread \d+ PR_GET_PDEATHSIG
// zdtm: may-differ pdeath_sig:
#include <sys/prctl.h>

#include "zdtm.hpp"

// A restore with --restore-detached ends, and criu is the root's parent.
ZDTM("the root doesn't get its parent-death signal when criu ends") {
    SYS(prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0));
    me.wait_for_check();
    int number = -1;
    SYS(prctl(PR_GET_PDEATHSIG, &number, 0, 0, 0));
    CHECK(number == SIGKILL || number == 0, "signal %d", number);
}
