// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes refused
// zdtm: refused creates its children in another time namespace
#include <linux/sched.h>
#include <sched.h>

#include "zdtm.hpp"

ZDTM("who makes a time namespace for its children only is refused") {
    if (unshare(CLONE_NEWTIME) != 0)
        zdtm::skip("no time namespaces: %s", strerror(errno));
    me.wait_for_check();
}
