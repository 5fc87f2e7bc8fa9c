// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes five
// zdtm: restore-options --cgroup-root name=zdtm:/zdtm-rebased
// zdtm: between rmdir $(cat group)/inner $(cat group) || rmdir /mnt/zdtm-rebased/inner /mnt/zdtm-rebased
// zdtm: ignore thread \d+ cgroup
#include "cgroups.hpp"
#include "zdtm.hpp"

ZDTM("restore --cgroup-root puts the groups below another group") {
    const zdtm::Cgroups groups("none,name=zdtm");
    groups.enter();
    groups.make("inner");
    me.wait_for_check();
    CHECK(groups.where() == "/zdtm-rebased", "in %s", groups.where().c_str());
    CHECK(access("/mnt/zdtm-rebased/inner", F_OK) == 0, "nothing is in it");
    zdtm::write_file("/mnt/cgroup.procs", "0");
    SYS(rmdir("/mnt/zdtm-rebased/inner"));
    SYS(rmdir("/mnt/zdtm-rebased"));
}
