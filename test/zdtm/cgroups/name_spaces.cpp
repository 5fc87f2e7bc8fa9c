// SPDX-License-Identifier: GPL-2.0-only
// zdtm: between rmdir $(cat group)/outer/deep $(cat group)/outer $(cat group)/other $(cat group)
// zdtm: not-in terminated,killed
// zdtm: fails-with-4.2 it restores one cgroup namespace only
#include <sched.h>

#include "cgroups.hpp"
#include "zdtm.hpp"

ZDTM(
    "children in cgroup namespaces, one of them with a child in a further one, see the same groups after the restore") {
    const zdtm::Cgroups groups("none,name=zdtm");
    groups.enter();
    const std::string outside = groups.where();
    const pid_t first = me.start_child([&](zdtm::Task& task) {
        groups.enter("outer");
        SYS(unshare(CLONE_NEWCGROUP));
        const pid_t below = task.start_child([&](zdtm::Task& inner) {
            groups.enter("outer/deep");
            inner.wait_for_check();
            CHECK(groups.where() == "/deep", "the grandchild is in %s", groups.where().c_str());
        });
        task.wait_for_check();
        CHECK(groups.where() == "/", "the child is in %s", groups.where().c_str());
        task.finish(below);
    });
    const pid_t second = me.start_child([&](zdtm::Task& task) {
        groups.enter("other");
        SYS(unshare(CLONE_NEWCGROUP));
        task.wait_for_check();
        CHECK(groups.where() == "/", "the other child is in %s", groups.where().c_str());
    });
    me.wait_for_check();
    CHECK(groups.where() == outside, "in %s", groups.where().c_str());
    me.finish(first);
    me.finish(second);
    groups.leave({"outer/deep", "outer", "other"});
}
