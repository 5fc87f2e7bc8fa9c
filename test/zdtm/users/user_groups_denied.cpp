// SPDX-License-Identifier: GPL-2.0-only
// zdtm: also user-given
// zdtm: own-users denied
// zdtm: fails-with-4.2 it forgets that setgroups(2) is denied
#include <grp.h>

#include "zdtm.hpp"

namespace {
void require_denied(const char* who) {
    CHECK(zdtm::read_file("/proc/self/setgroups") == "deny\n", "%s: setgroups(2) isn't denied", who);
    gid_t groups[10] = {};
    const int count = SYS(getgroups(10, groups));
    CHECK(count == 1 && groups[0] == 5, "%s: %d groups, the first is %u", who, count, groups[0]);
    CHECK(setgroups(0, nullptr) == -1 && errno == EPERM, "%s could leave its group", who);
}
}  // namespace

ZDTM("a user namespace with setgroups(2) denied") {
    require_denied("before the dump");
    const pid_t child = me.start_child([](zdtm::Task& task) {
        SYS(setresgid(7, 7, 7));
        SYS(setresuid(7, 7, 7));
        task.wait_for_check();
        require_denied("the child");
    });
    me.wait_for_check();
    require_denied("the root");
    me.finish(child);
}
