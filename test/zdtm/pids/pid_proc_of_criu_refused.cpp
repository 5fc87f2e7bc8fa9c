// SPDX-License-Identifier: GPL-2.0-only
// zdtm: own-pids yes
// zdtm: modes refused
// zdtm: refused ^.*/proc/\d+ of pid \d+ belongs to a process of the tree, by its number
#include "zdtm.hpp"

ZDTM("a dump refuses a working directory of a tree's process in criu's /proc, if the tree has a pid namespace") {
    SYS(chdir("/proc/self"));
    me.wait_for_check();
    CHECK(access("status", F_OK) == 0, "%s", strerror(errno));
}
