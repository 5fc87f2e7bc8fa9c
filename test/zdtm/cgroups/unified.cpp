// SPDX-License-Identifier: GPL-2.0-only
// zdtm: also restore-killed
// zdtm: between rmdir $(cat group)/leaf $(cat group)/stopped $(cat group)
#include "cgroups.hpp"
#include "zdtm.hpp"

ZDTM("version 2 groups with limits, one of them frozen") {
    const zdtm::Cgroups groups("");
    zdtm::write_file(groups.make() + "/cgroup.max.depth", "7");
    zdtm::write_file(groups.make() + "/cgroup.max.descendants", "9");
    zdtm::write_file(groups.make("stopped") + "/cgroup.freeze", "1");
    groups.enter();
    const pid_t child = me.start_child([&](zdtm::Task& task) {
        groups.enter("leaf");
        task.wait_for_check();
        CHECK(groups.where() == groups.in_proc("leaf"), "the child is in %s", groups.where().c_str());
    });
    me.wait_for_check();
    CHECK(groups.where() == groups.in_proc(), "in %s", groups.where().c_str());
    CHECK(zdtm::read_file(groups.make() + "/cgroup.max.depth") == "7\n", "depth");
    CHECK(zdtm::read_file(groups.make() + "/cgroup.max.descendants") == "9\n", "descendants");
    CHECK(zdtm::read_file(groups.make("stopped") + "/cgroup.freeze") == "1\n", "not stopped");
    me.finish(child);
    groups.leave({"leaf", "stopped"});
}
