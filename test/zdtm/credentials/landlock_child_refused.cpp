// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes refused
// zdtm: refused process \d+ \(landlock_child_\).*in a Landlock domain
// zdtm: fails-with-4.2 it loses the domain
#include "landlock.hpp"
#include "other_user.hpp"

ZDTM("a dump refuses a process in a Landlock domain; other processes of the same user are in none") {
    zdtm::need_landlock();
    const auto free = [](zdtm::Task& task) {
        zdtm::become_user();
        task.wait_for_check();
    };
    const pid_t before = me.start_child(free);
    const pid_t confined = me.start_child([](zdtm::Task& task) {
        zdtm::become_user();
        zdtm::enter_domain();
        SYS(chdir("/"));
        task.wait_for_check();
        zdtm::check_in_domain();
    });
    const pid_t after = me.start_child(free);
    me.wait_for_check();
    for (const pid_t child : {before, confined, after}) {
        me.finish(child);
    }
}
