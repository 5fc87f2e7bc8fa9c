// SPDX-License-Identifier: GPL-2.0-only
// zdtm: own-pids yes
// zdtm: modes refused
// zdtm: refused /proc/\d+ \(deleted\) of pid \d+ is of a process that has ended
#include "proc_files.hpp"

ZDTM("a dump refuses a working directory of an ended process in criu's /proc, if the tree has a pid namespace") {
    zdtm::enter_ended_process();
    me.wait_for_check();
    CHECK(access("status", F_OK) == -1, "there is a process");
}
