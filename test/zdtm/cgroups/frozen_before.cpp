// SPDX-License-Identifier: GPL-2.0-only
// zdtm: dump-options --freeze-cgroup /mnt/zdtm-frozen-before
// zdtm: modes leave-running
#include <sys/mount.h>
#include <sys/stat.h>

#include "zdtm.hpp"

// The option names one place for all runs, so there is only one mode.
ZDTM("--freeze-cgroup with a group that is frozen already stays frozen") {
    SYS(mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr));
    if (mount("none", "/mnt", "cgroup", 0, "freezer") == -1) {
        zdtm::skip("no freezer: %s", strerror(errno));
    }
    const std::string group = "/mnt/zdtm-frozen-before";
    CHECK(mkdir(group.c_str(), 0755) == 0 || errno == EEXIST, "%s", strerror(errno));
    const pid_t child = me.start_child([&](zdtm::Task& task) {
        zdtm::write_file(group + "/cgroup.procs", "0");
        task.wait_for_check();
    });
    const auto state = [&] { return zdtm::read_file(group + "/freezer.state"); };
    zdtm::write_file(group + "/freezer.state", "FROZEN");
    while (state() != "FROZEN\n") {
        usleep(1000);
    }
    me.wait_for_check();
    CHECK(state() == "FROZEN\n", "%s", state().c_str());
    zdtm::write_file(group + "/freezer.state", "THAWED");
    me.finish(child);
    CHECK(rmdir(group.c_str()) == 0 || errno == EBUSY, "%s", strerror(errno));
}
