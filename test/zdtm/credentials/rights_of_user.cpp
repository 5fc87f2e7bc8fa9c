// SPDX-License-Identifier: GPL-2.0-only
// zdtm: also fewer-rights
// zdtm: fails-with-4.2 without CAP_SYS_RESOURCE it can't read another user's limits
#include <sys/prctl.h>

#include "zdtm.hpp"

ZDTM("a tree of a user without capabilities") {
    constexpr uid_t user = 1000;
    SYS(setresgid(user, user, user));
    SYS(setresuid(user, user, user));
    SYS(prctl(PR_SET_DUMPABLE, 1, 0, 0, 0));
    me.wait_for_check();
    CHECK(prctl(PR_GET_DUMPABLE) == 1, "dumpable is %d", prctl(PR_GET_DUMPABLE));
    CHECK(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 0, "it may gain no rights any more");
}
