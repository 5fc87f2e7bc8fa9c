// SPDX-License-Identifier: GPL-2.0-only
// zdtm: fails-with-4.2 without CAP_SYS_RESOURCE it can't read another user's limits
#include <grp.h>
#include <sys/fsuid.h>

#include "zdtm.hpp"

namespace {
void become(uid_t uid, gid_t gid) {
    const gid_t groups[] = {gid, gid + 1};
    SYS(setgroups(2, groups));
    SYS(setresgid(gid, gid + 2, gid + 3));
    SYS(setresuid(uid, uid, uid));
}

void require(uid_t uid, gid_t gid) {
    uid_t real = 0;
    uid_t effective = 0;
    uid_t saved = 0;
    SYS(getresuid(&real, &effective, &saved));
    CHECK(real == uid && effective == uid && saved == uid, "uids %u %u %u", real, effective, saved);
    SYS(getresgid(&real, &effective, &saved));
    CHECK(real == gid && effective == gid + 2 && saved == gid + 3, "gids %u %u %u", real, effective, saved);
    gid_t groups[3] = {};
    CHECK(getgroups(3, groups) == 2 && groups[0] == gid && groups[1] == gid + 1, "groups %u %u", groups[0], groups[1]);
    CHECK(setuid(0) == -1 && errno == EPERM, "it can become root again");
    CHECK(zdtm::status_field("/proc/self/status", "CapEff") == "0000000000000000", "it has capabilities");
}
}  // namespace

ZDTM("tasks of other users in one tree") {
    const pid_t first = me.start_child([](zdtm::Task& task) {
        become(1000, 2000);
        task.wait_for_check();
        require(1000, 2000);
    });
    const pid_t second = me.start_child([](zdtm::Task& task) {
        become(3000, 4000);
        task.wait_for_check();
        require(3000, 4000);
    });
    me.wait_for_check();
    me.finish(first);
    me.finish(second);
}
