// SPDX-License-Identifier: GPL-2.0-only
#include <grp.h>
#include <sys/fsuid.h>

#include <vector>

#include "zdtm.hpp"

ZDTM("50 supplementary groups and a file-system gid") {
    std::vector<gid_t> groups;
    for (gid_t group = 1; group <= 50; ++group) {
        groups.push_back(group * 1000);
    }
    SYS(setgroups(groups.size(), groups.data()));
    setfsgid(14);
    me.wait_for_check();

    const int group = setfsgid(static_cast<gid_t>(-1));
    CHECK(group == 14, "fsgid %d", group);
    std::vector<gid_t> now(100);
    const int count = SYS(getgroups(100, now.data()));
    now.resize(static_cast<std::size_t>(count));
    CHECK(now == groups, "%d groups", count);
}
