// SPDX-License-Identifier: GPL-2.0-only
// zdtm: fails-with-4.2 the port is taken until the kernel forgets the connections
#include "inet_sockets.hpp"
#include "zdtm.hpp"

namespace {
// Listens without SO_REUSEADDR, as many servers on a port of the kernel's choice do.
int plain_listener(const zdtm::Inet& where) {
    const int fd = SYS(socket(where.get()->sa_family, SOCK_STREAM, 0));
    SYS(bind(fd, where.get(), where.length));
    SYS(listen(fd, 7));
    return fd;
}

// The accepting side closes first, so the kernel keeps a TIME_WAIT entry on the listener's port.
void closed_connection(int listener, const zdtm::Inet& to) {
    const int client = zdtm::tcp_connected(to);
    const int server = SYS(accept(listener, nullptr, nullptr));
    SYS(close(server));
    char byte = 0;
    SYS(read(client, &byte, 1));
    SYS(close(client));
}
}  // namespace

ZDTM("listeners without SO_REUSEADDR whose port has TIME_WAIT entries") {
    const int four = plain_listener(zdtm::Inet::loopback(AF_INET));
    closed_connection(four, zdtm::Inet::of(four));
    zdtm::Inet any{};
    auto& address = reinterpret_cast<sockaddr_in6&>(any.room);
    address.sin6_family = AF_INET6;
    any.length = sizeof address;
    const int both = plain_listener(any);
    closed_connection(both, zdtm::Inet::loopback(AF_INET, zdtm::Inet::of(both).port()));
    me.wait_for_check();

    const zdtm::Inet places[] = {zdtm::Inet::of(four), zdtm::Inet::loopback(AF_INET, zdtm::Inet::of(both).port())};
    for (const int listener : {four, both}) {
        CHECK(zdtm::get_option(listener, SOL_SOCKET, SO_REUSEADDR) == 0, "SO_REUSEADDR is set");
        const int client = zdtm::tcp_connected(places[listener == both ? 1 : 0]);
        zdtm::check_flows(client, SYS(accept(listener, nullptr, nullptr)), "a new connection");
    }
}
