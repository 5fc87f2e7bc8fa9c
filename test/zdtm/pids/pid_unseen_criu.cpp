// SPDX-License-Identifier: GPL-2.0-only
// zdtm: own-pids yes
#include "strangers.hpp"
#include "zdtm.hpp"

ZDTM("a process of a private pid namespace never sees a process of criu there") {
    zdtm::StrangerWatch watch;
    me.wait_for_check();
    watch.finish();
}
