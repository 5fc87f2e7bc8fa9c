// SPDX-License-Identifier: GPL-2.0-only
// zdtm: between rmdir $(cat group)/inner $(cat group)
// zdtm: not-in terminated,killed
#include <sched.h>

#include "cgroups.hpp"
#include "zdtm.hpp"

ZDTM("a tree in a cgroup namespace, with its processes in a group below the namespace's root") {
    const zdtm::Cgroups groups("none,name=zdtm");
    groups.enter();
    SYS(unshare(CLONE_NEWCGROUP));
    groups.enter("inner");
    const pid_t child = me.start_child([&](zdtm::Task& task) {
        task.wait_for_check();
        CHECK(groups.where() == "/inner", "the child is in %s", groups.where().c_str());
    });
    CHECK(groups.where() == "/inner", "in %s", groups.where().c_str());
    me.wait_for_check();
    CHECK(groups.where() == "/inner", "in %s", groups.where().c_str());
    me.finish(child);
    // The hierarchy was mounted before unshare(2), so the mount shows all of it.
    groups.leave({"inner"});
}
