// SPDX-License-Identifier: GPL-2.0-only
// zdtm: also restore-killed, restore-all-killed
// zdtm: between rmdir $(cat group)/inner $(cat group)/threads $(cat group)/empty $(cat group)
#include <sys/stat.h>

#include "cgroups.hpp"
#include "threads.hpp"
#include "zdtm.hpp"

ZDTM("a process, its child and one of its threads are in different groups, which the restore must create") {
    const zdtm::Cgroups groups("none,name=zdtm");
    zdtm::write_file(groups.make("inner") + "/notify_on_release", "1");
    zdtm::write_file(groups.make("empty") + "/cgroup.clone_children", "1");
    SYS(chmod(groups.make("empty").c_str(), 0710));
    SYS(chown((groups.make("inner") + "/tasks").c_str(), 1000, 1001));
    groups.enter();
    zdtm::Threads threads(
        3,
        [&](unsigned index) {
            if (index == 1) {
                groups.enter("threads", true);
            }
        },
        [&](unsigned index) {
            const std::string wanted = groups.in_proc(index == 1 ? "threads" : "");
            CHECK(groups.where() == wanted, "thread %u is in %s", index, groups.where().c_str());
        });
    const pid_t child = me.start_child([&](zdtm::Task& task) {
        groups.enter("inner");
        task.wait_for_check();
        CHECK(groups.where() == groups.in_proc("inner"), "the child is in %s", groups.where().c_str());
    });
    me.wait_for_check();
    CHECK(groups.where() == groups.in_proc(), "in %s", groups.where().c_str());
    CHECK(zdtm::read_file(groups.make("inner") + "/notify_on_release") == "1\n", "notify_on_release is off");
    CHECK(zdtm::read_file(groups.make("empty") + "/cgroup.clone_children") == "1\n", "clone_children is off");
    struct stat status {};
    SYS(stat(groups.make("empty").c_str(), &status));
    CHECK((status.st_mode & 0777) == 0710, "mode 0%o", status.st_mode);
    SYS(stat((groups.make("inner") + "/tasks").c_str(), &status));
    CHECK(status.st_uid == 1000 && status.st_gid == 1001, "owner %u:%u", status.st_uid, status.st_gid);
    threads.finish();
    me.finish(child);
    groups.leave({"inner", "threads", "empty"});
}
