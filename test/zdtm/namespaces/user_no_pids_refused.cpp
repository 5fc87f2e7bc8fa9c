// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes refused
// zdtm: refused user namespace of its own, but not in a pid namespace of its own
#include <sched.h>

#include "zdtm.hpp"

ZDTM("a user namespace without a pid namespace is refused") {
    SYS(unshare(CLONE_NEWUSER));
    me.wait_for_check();
}
