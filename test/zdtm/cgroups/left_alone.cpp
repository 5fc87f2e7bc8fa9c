// SPDX-License-Identifier: GPL-2.0-only
// zdtm: dump-options --manage-cgroups=ignore
// zdtm: restore-options --manage-cgroups=ignore
// zdtm: between ! test -e $(cat group) || rmdir $(cat group)
// zdtm: not-in leave-running,terminated,killed
// zdtm: ignore thread \d+ cgroup
#include "cgroups.hpp"
#include "zdtm.hpp"

ZDTM("--manage-cgroups=ignore restores the tree in the groups of the restoring criu") {
    const zdtm::Cgroups groups("none,name=zdtm");
    groups.enter_and_check(me, groups.where());
}
