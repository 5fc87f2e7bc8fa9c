// SPDX-License-Identifier: GPL-2.0-only
// zdtm: also user-given
// zdtm: own-users yes
#include "strangers.hpp"
#include "zdtm.hpp"

ZDTM("a process of a user and a pid namespace never sees a process of criu there") {
    zdtm::StrangerWatch watch;
    me.wait_for_check();
    watch.finish();
}
