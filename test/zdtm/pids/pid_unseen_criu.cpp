// SPDX-License-Identifier: GPL-2.0-only
// zdtm: own-pids yes
#include "strangers.hpp"
#include "zdtm.hpp"

ZDTM("a process of a pid namespace that looks for others there never sees one of criu") {
    zdtm::StrangerWatch watch;
    me.wait_for_check();
    watch.finish();
}
