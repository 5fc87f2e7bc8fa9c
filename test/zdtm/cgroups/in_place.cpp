// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes once,five,leave-running,terminated,killed,to-other,from-other,refused-restore,restore-terminated
// zdtm: refused-restore --manage-cgroups=strict
// zdtm: refused-with exists already, which --manage-cgroups=strict forbids
#include "cgroups.hpp"
#include "zdtm.hpp"

ZDTM("a restore uses existing groups as they are") {
    const zdtm::Cgroups groups("none,name=zdtm");
    groups.enter_and_check(me);
    groups.leave();
}
