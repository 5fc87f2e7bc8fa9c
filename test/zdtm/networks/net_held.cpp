// SPDX-License-Identifier: GPL-2.0-only
// zdtm: fails-with-4.2 knows only namespaces that processes are in
#include <fcntl.h>
#include <linux/sockios.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "inet_sockets.hpp"
#include "network.hpp"
#include "zdtm.hpp"

namespace {

ino_t inode_of(int fd) {
    struct stat about {};
    SYS(fstat(fd, &about));
    return about.st_ino;
}

void enter(int network) {
    SYS(setns(network, CLONE_NEWNET));
}

}  // namespace

ZDTM("network namespaces that only a descriptor or a socket keeps alive") {
    zdtm::enter_new_network();
    const int home = SYS(open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC));
    zdtm::enter_new_network();
    zdtm::output_of("ip link add only0 type ifb && ip addr add 10.20.0.1/24 dev lo");
    const zdtm::Sights of_held({"ip -o addr", "ip -o link"});
    const int held = SYS(open("/proc/self/ns/net", O_RDONLY));
    const int same = SYS(open("/proc/self/ns/net", O_RDONLY));
    zdtm::enter_new_network();
    zdtm::output_of("ip addr add 10.21.0.1/24 dev lo");
    const zdtm::Sights of_socket({"ip -o addr"});
    const int listener = zdtm::tcp_listener(AF_INET);
    const zdtm::Inet address = zdtm::Inet::of(listener);
    enter(home);

    me.wait_for_check();

    CHECK(inode_of(home) == inode_of(SYS(open("/proc/self/ns/net", O_RDONLY))), "home is another");
    CHECK(inode_of(held) == inode_of(same) && inode_of(held) != inode_of(home), "descriptors are of others");
    enter(held);
    of_held.check();
    const int of = SYS(ioctl(listener, SIOCGSKNS));
    CHECK(inode_of(of) != inode_of(home) && inode_of(of) != inode_of(held), "the socket is elsewhere");
    enter(of);
    of_socket.check();
    const int client = zdtm::tcp_connected(address);
    const int server = SYS(accept(listener, nullptr, nullptr));
    zdtm::check_flows(client, server, "there");
}
