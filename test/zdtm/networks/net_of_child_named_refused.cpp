// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes refused
// zdtm: refused is called
// zdtm: fails-with-4.2 its message does not say so
#include <sys/mount.h>

#include "network.hpp"
#include "zdtm.hpp"

ZDTM("a dump refuses a child's network namespace that has a name outside, as of ip-netns(8)") {
    const pid_t child = me.start_child([](zdtm::Task& task) {
        zdtm::enter_new_network();
        zdtm::write_file("name", "");
        SYS(mount("/proc/self/ns/net", "name", nullptr, MS_BIND, nullptr));
        task.wait_for_check();
    });
    me.wait_for_check();
    SYS(umount2("name", MNT_DETACH));
    me.finish(child);
}
