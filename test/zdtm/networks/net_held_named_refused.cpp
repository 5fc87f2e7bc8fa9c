// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes refused
// zdtm: refused fd \d+.*is called .*name outside
// zdtm: fails-with-4.2 knows only namespaces that processes are in
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>

#include "network.hpp"
#include "zdtm.hpp"

ZDTM("a dump refuses a descriptor of a network namespace whose name, as of ip-netns(8), is outside of the tree") {
    zdtm::enter_new_network();
    const int home = SYS(open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC));
    zdtm::enter_new_network();
    zdtm::write_file("name", "");
    SYS(mount("/proc/self/ns/net", "name", nullptr, MS_BIND, nullptr));
    const int held = SYS(open("/proc/self/ns/net", O_RDONLY));
    SYS(setns(home, CLONE_NEWNET));
    me.wait_for_check();
    SYS(close(held));
    SYS(umount2("name", MNT_DETACH));
}
