// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes refused
// zdtm: refused fd \d+.*is called .*name outside
// zdtm: fails-with-4.2 knows only namespaces that processes are in
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>

#include "inet_sockets.hpp"
#include "network.hpp"
#include "zdtm.hpp"

ZDTM("a dump refuses a socket of a network namespace that has a name outside and no process of the tree") {
    zdtm::enter_new_network();
    const int home = SYS(open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC));
    zdtm::enter_new_network();
    zdtm::write_file("name", "");
    SYS(mount("/proc/self/ns/net", "name", nullptr, MS_BIND, nullptr));
    const int listener = zdtm::tcp_listener(AF_INET);
    SYS(setns(home, CLONE_NEWNET));
    SYS(close(home));
    me.wait_for_check();
    SYS(close(listener));
    SYS(umount2("name", MNT_DETACH));
}
