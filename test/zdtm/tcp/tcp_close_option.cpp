// SPDX-License-Identifier: GPL-2.0-only
// zdtm: ignore fd \d+ (getpeername|getsockname)
// zdtm: dump-options --tcp-close
// zdtm: restore-options --tcp-close
// zdtm: not-in leave-running
// zdtm: between touch ../restored
// zdtm: may-differ fd \d+:
#include "inet_sockets.hpp"
#include "zdtm.hpp"

ZDTM("--tcp-close: connections are closed after the restore, listening sockets and options stay") {
    const int listener = zdtm::tcp_listener(AF_INET);
    const int client = zdtm::tcp_connected(zdtm::Inet::of(listener));
    const int server = SYS(accept(listener, nullptr, nullptr));
    zdtm::set_option(client, IPPROTO_TCP, TCP_NODELAY, 1);
    me.wait_for_check();
    if (access("../restored", F_OK) != 0) {
        zdtm::check_flows(client, server, "a dump that failed");  // the failed dump left the connection open
        return;
    }
    for (const int fd : {client, server}) {
        char byte = 0;
        CHECK(zdtm::tcp_state(fd) == TCP_CLOSE, "state %d", zdtm::tcp_state(fd));
        CHECK(recv(fd, &byte, 1, MSG_DONTWAIT) == 0, "no end: %s", strerror(errno));
        CHECK(send(fd, "x", 1, MSG_NOSIGNAL) == -1 && errno == EPIPE, "it sends: %s", strerror(errno));
    }
    CHECK(zdtm::get_option(client, IPPROTO_TCP, TCP_NODELAY) == 1, "TCP_NODELAY is lost");
    const int next = zdtm::tcp_connected(zdtm::Inet::of(listener));
    zdtm::check_flows(next, SYS(accept(listener, nullptr, nullptr)), "a new connection");
}
