// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes refused
// zdtm: dump-options --manage-cgroups
// zdtm: refused more than [0-9]+ cgroups are in each other
#include "cgroups.hpp"
#include "zdtm.hpp"

ZDTM("a dump refuses groups that are nested deeper than images can hold") {
    const zdtm::Cgroups groups("none,name=test");
    std::string path;
    for (int level = 0; level < 500; ++level) {
        path += path.empty() ? "d" : "/d";
        groups.make(path);
    }
    groups.enter();
    me.wait_for_check();
}
