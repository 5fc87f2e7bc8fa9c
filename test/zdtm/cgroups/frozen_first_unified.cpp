// SPDX-License-Identifier: GPL-2.0-only
// zdtm: dump-options --freeze-cgroup /mnt/zdtm-frozen-first-2
// zdtm: modes leave-running
#include <sys/mount.h>
#include <sys/stat.h>

#include "threads.hpp"
#include "zdtm.hpp"

// The option names one place for all runs, so there is only one mode.
ZDTM("--freeze-cgroup with a group of version 2 that has the whole tree") {
    SYS(mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr));
    if (mount("none", "/mnt", "cgroup2", 0, "") == -1) {
        zdtm::skip("no cgroups of version 2: %s", strerror(errno));
    }
    const std::string group = "/mnt/zdtm-frozen-first-2";
    CHECK(mkdir(group.c_str(), 0755) == 0 || errno == EEXIST, "%s", strerror(errno));
    zdtm::write_file(group + "/cgroup.procs", "0");
    std::atomic<bool> end{false};
    zdtm::Threads threads(4, [&](unsigned, zdtm::Threads& all) {
        all.arrive();
        while (!end) {
        }
    });
    const pid_t child = me.start_child([&](zdtm::Task& task) { task.wait_for_check(); });
    me.wait_for_check();
    CHECK(zdtm::read_file(group + "/cgroup.freeze") == "0\n", "%s", zdtm::read_file(group + "/cgroup.freeze").c_str());
    me.finish(child);
    end = true;
    threads.finish();
    zdtm::write_file("/mnt/cgroup.procs", "0");
    CHECK(rmdir(group.c_str()) == 0 || errno == EBUSY, "%s", strerror(errno));
}
