// SPDX-License-Identifier: GPL-2.0-only
// zdtm: fails-with-4.2 without CAP_SYS_RESOURCE it can't read the limits of a task with other ids
#include <grp.h>
#include <sys/fsuid.h>

#include <vector>

#include "zdtm.hpp"

ZDTM("group ids, file-system ids and supplementary groups of a root task") {
    std::vector<gid_t> groups;
    for (gid_t group = 1; group <= 50; ++group) {
        groups.push_back(group * 1000);
    }
    SYS(setgroups(groups.size(), groups.data()));
    SYS(setresgid(11, 12, 13));
    setfsgid(14);
    me.wait_for_check();

    gid_t real = 0;
    gid_t effective = 0;
    gid_t saved = 0;
    SYS(getresgid(&real, &effective, &saved));
    CHECK(real == 11 && effective == 12 && saved == 13, "%u %u %u", real, effective, saved);
    const int group = setfsgid(static_cast<gid_t>(-1));
    CHECK(group == 14, "fsgid %d", group);
    std::vector<gid_t> now(100);
    const int count = SYS(getgroups(100, now.data()));
    now.resize(static_cast<std::size_t>(count));
    CHECK(now == groups, "%d groups", count);
}
