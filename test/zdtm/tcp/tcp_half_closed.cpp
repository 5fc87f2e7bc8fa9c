// SPDX-License-Identifier: GPL-2.0-only
// zdtm: dump-options --tcp-established
// zdtm: restore-options --tcp-established
// zdtm: may-differ isk\.v6only:
#include <poll.h>

#include "inet_sockets.hpp"
#include "patience.hpp"
#include "zdtm.hpp"

namespace {
void check_half_closed(const zdtm::Connection& pair, const char* what) {
    CHECK(zdtm::tcp_state(pair.client) == TCP_FIN_WAIT2, "%s: client in state %d", what, zdtm::tcp_state(pair.client));
    CHECK(zdtm::tcp_state(pair.server) == TCP_CLOSE_WAIT, "%s: server in state %d", what, zdtm::tcp_state(pair.server));
    char text[16] = {};
    CHECK(recv(pair.server, text, sizeof text, MSG_DONTWAIT) == 4, "%s: what came before the end is lost", what);
    CHECK(recv(pair.server, text, sizeof text, MSG_DONTWAIT) == 0, "%s: no end", what);
    CHECK(send(pair.client, "x", 1, MSG_NOSIGNAL) == -1 && errno == EPIPE, "%s: the client sends: %s", what,
          strerror(errno));
    zdtm::check_flows(pair.server, pair.client, what);
    SYS(close(pair.server));
    pollfd wait{pair.client, POLLIN, 0};
    CHECK(poll(&wait, 1, zdtm::kPatience) == 1 && recv(pair.client, text, sizeof text, MSG_DONTWAIT) == 0,
          "%s: the client doesn't see the end", what);
}

zdtm::Connection half_closed(int family) {
    const zdtm::Connection pair = zdtm::tcp_connection(family);
    SYS(send(pair.client, "last", 4, 0));
    SYS(shutdown(pair.client, SHUT_WR));
    while (zdtm::tcp_state(pair.client) != TCP_FIN_WAIT2) {
        usleep(1000);
    }
    return pair;
}
}  // namespace

ZDTM("connections with one closed direction") {
    const zdtm::Connection four = half_closed(AF_INET);
    const zdtm::Connection six = half_closed(AF_INET6);
    const zdtm::Connection reading = zdtm::tcp_connection(AF_INET);
    SYS(shutdown(reading.client, SHUT_RD));
    me.wait_for_check();

    check_half_closed(four, "IPv4");
    check_half_closed(six, "IPv6");
    char byte = 0;
    CHECK(recv(reading.client, &byte, 1, MSG_DONTWAIT) == 0, "the shut down direction isn't");
    zdtm::check_flows(reading.client, reading.server, "the other direction");
}
