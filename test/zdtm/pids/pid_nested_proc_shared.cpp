// SPDX-License-Identifier: GPL-2.0-only
// zdtm: fails-with-4.2 it restores one pid namespace only
// zdtm: restore-options --root /
#include <sched.h>
#include <sys/mount.h>

#include "mounts.hpp"
#include "nested_pids.hpp"

namespace {

std::string self() {
    char text[32] = {};
    return readlink("/proc/self", text, sizeof(text) - 1) < 0 ? "no process" : text;
}

// Does what unshare --fork --pid --mount-proc does. The creator is in the mount namespace and has no pid in its /proc.
void live_beside(zdtm::Task& task) {
    SYS(unshare(CLONE_NEWNS));
    const pid_t first = zdtm::start_first(task, [](zdtm::Task& below) {
        zdtm::mount_on("/proc", "proc");
        const auto before = zdtm::mount_lines();
        below.wait_for_check();
        CHECK(self() == "1", "/proc shows %s", self().c_str());
        zdtm::check_mounts(before);
    });
    CHECK(self() == "no process", "/proc shows %s", self().c_str());
    task.wait_for_check();
    CHECK(self() == "no process", "/proc shows %s", self().c_str());
    task.finish(first);
}

// Makes all mounts shared. A slave namespace gets propagation events from them.
void live_shared(zdtm::Task& task) {
    SYS(unshare(CLONE_NEWNS));
    while (umount2("/proc", MNT_DETACH) == 0)
        continue;
    zdtm::propagate("/", MS_SHARED | MS_REC);
    zdtm::mount_on("/proc", "proc");
    zdtm::bind_on("/proc/sys", "/proc/sys");
    const pid_t follower = task.start_child([](zdtm::Task& below) {
        SYS(unshare(CLONE_NEWNS));
        zdtm::propagate("/", MS_SLAVE | MS_REC);
        const auto before = zdtm::mount_lines();
        below.wait_for_check();
        CHECK(self() == std::to_string(getpid()), "/proc shows %s", self().c_str());
        zdtm::check_mounts(before);
    });
    const auto before = zdtm::mount_lines();
    task.wait_for_check();
    CHECK(self() == "1", "/proc shows %s", self().c_str());
    zdtm::check_mounts(before);
    task.finish(follower);
}

}  // namespace

ZDTM(
    "a proc mount of a nested pid namespace, in mount namespaces with processes of other pid namespaces or with "
    "slaves") {
    zdtm::enter_new_mounts();
    const pid_t beside = me.start_child(live_beside);
    const pid_t shared = zdtm::start_first(me, live_shared);
    me.wait_for_check();
    me.finish(beside);
    me.finish(shared);
}
