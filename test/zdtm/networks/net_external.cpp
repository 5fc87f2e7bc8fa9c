// SPDX-License-Identifier: GPL-2.0-only
// zdtm: network own
// zdtm: dump-options --config /mnt/criu.conf
// zdtm: restore-options --join-ns net:/mnt/joined
// zdtm: modes once,five,killed
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "inet_sockets.hpp"
#include "network.hpp"
#include "zdtm.hpp"

ZDTM("a dump leaves an external network namespace unchanged, whatever devices it has") {
    SYS(mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr));
    SYS(mount("none", "/mnt", "tmpfs", 0, nullptr));
    zdtm::output_of("touch /mnt/joined && unshare --net=/mnt/joined ip link set lo up");
    const int joined = SYS(open("/mnt/joined", O_RDONLY | O_CLOEXEC));
    struct stat there {};
    SYS(fstat(joined, &there));
    SYS(setns(joined, CLONE_NEWNET));
    SYS(close(joined));
    zdtm::output_of("ip link add zdtm0 type vxlan id 5 dstport 4789 2>/dev/null || true");
    zdtm::output_of("echo 'external net[" + std::to_string(there.st_ino) + "]:outer' >/mnt/criu.conf");
    const int listener = zdtm::tcp_listener(AF_INET);
    const zdtm::Sights sights({"ip -o link", "ip -o addr"});
    me.wait_for_check();
    struct stat here {};
    SYS(stat("/proc/self/ns/net", &here));
    CHECK(here.st_ino == there.st_ino, "in %lu, not in %lu", here.st_ino, there.st_ino);
    sights.check();
    const int client = zdtm::tcp_connected(zdtm::Inet::of(listener));
    const int server = SYS(accept(listener, nullptr, nullptr));
    zdtm::check_flows(client, server, "new connection");
}
