// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes once, attacked
// zdtm: timeout 120
// zdtm: fails-with-4.2 without CAP_SYS_RESOURCE it can't read another user's limits
#include <sys/prctl.h>

#include "many_mappings.hpp"
#include "zdtm.hpp"

namespace {
constexpr uid_t kUser = 1000;

void become_user() {
    SYS(setresgid(kUser, kUser, kUser));
    SYS(setresuid(kUser, kUser, kUser));
    SYS(prctl(PR_SET_DUMPABLE, 1, 0, 0, 0));
}
}  // namespace

ZDTM("processes of one user, some of which take longer to restore, under attack by that user") {
    const auto quick = [](zdtm::Task& task) {
        become_user();
        task.wait_for_check();
        CHECK(setuid(0) == -1 && errno == EPERM, "it can become root");
    };
    const auto slow = [](zdtm::Task& task) {
        zdtm::make_many_mappings();
        become_user();
        task.wait_for_check();
        CHECK(setuid(0) == -1 && errno == EPERM, "it can become root");
    };
    const pid_t children[] = {me.start_child(slow), me.start_child(quick), me.start_child(slow), me.start_child(quick)};
    me.wait_for_check();
    for (const pid_t child : children)
        me.finish(child);
}
