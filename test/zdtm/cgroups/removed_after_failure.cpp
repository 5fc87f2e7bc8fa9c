// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes refused-restore
// zdtm: between rmdir $(cat group)/inner $(cat group)
// zdtm: restore-options --manage-cgroups=strict
// zdtm: refused-restore --pidfile /etc/passwd
// zdtm: refused-with /etc/passwd.*File exists
#include "cgroups.hpp"
#include "zdtm.hpp"

// With "strict" the second restore fails if groups of the first one are left.
ZDTM("a failed restore removes the groups that it created") {
    const zdtm::Cgroups groups("none,name=zdtm");
    groups.enter();
    const pid_t child = me.start_child([&](zdtm::Task& task) {
        groups.enter("inner");
        task.wait_for_check();
        CHECK(groups.where() == groups.in_proc("inner"), "the child is in %s", groups.where().c_str());
    });
    me.wait_for_check();
    CHECK(groups.where() == groups.in_proc(), "in %s", groups.where().c_str());
    me.finish(child);
    groups.leave({"inner"});
}
