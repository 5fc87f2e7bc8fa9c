// SPDX-License-Identifier: GPL-2.0-only
// zdtm: dump-options --tcp-established
// zdtm: restore-options --tcp-established --join-ns net:/mnt/joined
// zdtm: modes once,five
#include <sys/mount.h>
#include <sys/stat.h>

#include "inet_sockets.hpp"
#include "network.hpp"
#include "zdtm.hpp"

ZDTM("a restore with --join-ns joins a network namespace and unlocks it") {
    SYS(mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr));
    SYS(mount("none", "/mnt", "tmpfs", 0, nullptr));
    zdtm::output_of("touch /mnt/joined && unshare --net=/mnt/joined ip link set lo up");
    zdtm::enter_new_network();
    const zdtm::Connection pair = zdtm::tcp_connection(AF_INET);
    me.wait_for_check();
    struct stat here {};
    struct stat joined {};
    SYS(stat("/proc/self/ns/net", &here));
    SYS(stat("/mnt/joined", &joined));
    CHECK(here.st_ino == joined.st_ino, "in %lu, not in %lu", here.st_ino, joined.st_ino);
    zdtm::check_flows(pair.client, pair.server, "there");
    const zdtm::Connection fresh = zdtm::tcp_connection(AF_INET);
    zdtm::check_flows(fresh.client, fresh.server, "new connection");
}
