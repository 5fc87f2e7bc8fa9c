// SPDX-License-Identifier: GPL-2.0-only
// zdtm: also restore-killed
// zdtm: fails-with-4.2 its processes are created inside of the user namespace, where they have no right to choose pids
#include "user_spaces.hpp"

ZDTM("a tree in a private user namespace without a pid namespace (unshare --map-root-user)") {
    zdtm::become_root_inside();
    const pid_t child = me.start_child([](zdtm::Task& task) {
        const std::string before = zdtm::user_space_lines();
        task.wait_for_check();
        zdtm::check_user_space(before);
    });
    const std::string before = zdtm::user_space_lines();
    me.wait_for_check();
    zdtm::check_user_space(before);
    CHECK(zdtm::share_users(getpid(), child), "%s", "a child is in another user namespace");
    zdtm::check_rights_inside();
    me.finish(child);
}
