// SPDX-License-Identifier: GPL-2.0-only
// zdtm: also all-killed
#include "inet_sockets.hpp"
#include "network.hpp"
#include "zdtm.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cstddef>

ZDTM("listening sockets, abstract names and a namespace file in a private network namespace") {
    zdtm::enter_new_network();
    const int listener = zdtm::tcp_listener(AF_INET);
    const int space = SYS(open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC));
    sockaddr_un name{};
    name.sun_family = AF_UNIX;
    memcpy(name.sun_path, "\0zdtm-net", 9);
    const socklen_t size = offsetof(sockaddr_un, sun_path) + 9;
    const int named = SYS(socket(AF_UNIX, SOCK_DGRAM, 0));
    SYS(bind(named, reinterpret_cast<sockaddr*>(&name), size));
    const zdtm::Inet address = zdtm::Inet::of(listener);
    me.wait_for_check();
    CHECK(zdtm::Inet::of(listener) == address, "listens at %s", zdtm::Inet::of(listener).text().c_str());
    const int client = zdtm::tcp_connected(address);
    const int server = SYS(accept(listener, nullptr, nullptr));
    zdtm::check_flows(client, server, "there");
    const int sender = SYS(socket(AF_UNIX, SOCK_DGRAM, 0));
    SYS(sendto(sender, "x", 1, 0, reinterpret_cast<sockaddr*>(&name), size));
    struct stat here {};
    struct stat kept {};
    SYS(stat("/proc/self/ns/net", &here));
    SYS(fstat(space, &kept));
    CHECK(here.st_ino == kept.st_ino, "the file is of %lu, the process in %lu", kept.st_ino, here.st_ino);
}
