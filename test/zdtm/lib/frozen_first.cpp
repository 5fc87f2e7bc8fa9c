// SPDX-License-Identifier: GPL-2.0-only
#include "frozen_first.hpp"

#include <sys/mount.h>
#include <sys/stat.h>

#include "threads.hpp"

namespace zdtm {

void dump_frozen_first(Task& me, const FrozenGroup& group) {
    SYS(mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr));
    if (mount("none", "/mnt", group.type, 0, group.options) == -1) {
        skip("no %s: %s", group.type, strerror(errno));
    }
    CHECK(mkdir(group.path.c_str(), 0755) == 0 || errno == EEXIST, "%s", strerror(errno));
    write_file(group.path + "/cgroup.procs", "0");
    std::atomic<bool> end{false};
    Threads threads(4, [&](unsigned, Threads& all) {
        all.arrive();
        while (!end) {
        }
    });
    const pid_t child = me.start_child([&](Task& task) { task.wait_for_check(); });
    me.wait_for_check();
    const std::string state = read_file(group.path + "/" + group.state);
    CHECK(state == group.running, "%s", state.c_str());
    me.finish(child);
    end = true;
    threads.finish();
    write_file("/mnt/cgroup.procs", "0");
    CHECK(rmdir(group.path.c_str()) == 0 || errno == EBUSY, "%s", strerror(errno));
}

}  // namespace zdtm
