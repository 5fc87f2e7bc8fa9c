// SPDX-License-Identifier: GPL-2.0-only
// zdtm: dump-options --freeze-cgroup /mnt/zdtm-frozen-traced
// zdtm: modes refused
// zdtm: refused traced by
// zdtm: fails-with-4.2 its message does not say by whom
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/stat.h>

#include "zdtm.hpp"

ZDTM("a group that the dump froze is thawed when a task in it can't be seized") {
    SYS(mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr));
    // Of version 2, where frozen tasks can be killed when this fails.
    if (mount("none", "/mnt", "cgroup2", 0, "") == -1) {
        zdtm::skip("no cgroup2: %s", strerror(errno));
    }
    const std::string group = "/mnt/zdtm-frozen-traced";
    CHECK(mkdir(group.c_str(), 0755) == 0 || errno == EEXIST, "%s", strerror(errno));
    zdtm::write_file(group + "/cgroup.procs", "0");
    const pid_t child = me.start_child([](zdtm::Task& task) { task.wait_for_check(); });
    SYS(ptrace(PTRACE_SEIZE, child, nullptr, nullptr));
    me.wait_for_check();  // asked for by a signal, which frozen tasks don't see
    const std::string state = zdtm::read_file(group + "/cgroup.freeze");
    CHECK(state == "0\n", "%s", state.c_str());
    SYS(ptrace(PTRACE_INTERRUPT, child, nullptr, nullptr));
    zdtm::wait_status(child);
    SYS(ptrace(PTRACE_DETACH, child, nullptr, nullptr));
    me.finish(child);
    zdtm::write_file("/mnt/cgroup.procs", "0");
    CHECK(rmdir(group.c_str()) == 0 || errno == EBUSY, "%s", strerror(errno));
}
