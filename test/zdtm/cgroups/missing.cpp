// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes refused-restore
// zdtm: between rmdir $(cat group)
// zdtm: refused-restore --manage-cgroups=none
// zdtm: refused-with cgroup /zdtm-\w+ of name=zdtm: doesn't exist, and --manage-cgroups=none
#include "cgroups.hpp"
#include "zdtm.hpp"

ZDTM("a restore with --manage-cgroups=none does not create missing groups") {
    const zdtm::Cgroups groups("none,name=zdtm");
    groups.enter_and_check(me);
    groups.leave();
}
