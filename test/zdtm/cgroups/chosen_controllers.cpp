// SPDX-License-Identifier: GPL-2.0-only
// zdtm: dump-options --cgroup-dump-controller freezer
// zdtm: between rmdir $(cat group)
// zdtm: modes once,to-other,from-other
// zdtm: ignore thread \d+ cgroup
#include "cgroups.hpp"
#include "zdtm.hpp"

ZDTM("--cgroup-dump-controller dumps the groups of the named controllers only") {
    const zdtm::Cgroups groups("memory");
    groups.enter_and_check(me, groups.where());
}
