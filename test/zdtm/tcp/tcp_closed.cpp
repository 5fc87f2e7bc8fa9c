// SPDX-License-Identifier: GPL-2.0-only
// zdtm: dump-options --tcp-established
// zdtm: restore-options --tcp-established
// zdtm: fails-with-4.2 it takes the error away, and makes a connection anew that closed
#include "inet_sockets.hpp"
#include "zdtm.hpp"

namespace {
// The peer closes with unread data, so the kernel sends a reset.
zdtm::Connection reset() {
    const zdtm::Connection pair = zdtm::tcp_connection(AF_INET);
    SYS(send(pair.client, "unread", 6, 0));
    SYS(send(pair.server, "read me", 7, 0));
    while (zdtm::unread(pair.server) == 0) {
        usleep(1000);
    }
    SYS(close(pair.server));
    while (zdtm::tcp_state(pair.client) != TCP_CLOSE) {
        usleep(1000);
    }
    return pair;
}
}  // namespace

ZDTM("reset connections keep unread data and their error; connections that were closed in order stay closed") {
    const int seen = reset().client;
    CHECK(zdtm::get_option(seen, SOL_SOCKET, SO_ERROR) == ECONNRESET, "no reset");
    const int unseen = reset().client;
    const zdtm::Connection peace = zdtm::tcp_connection(AF_INET);
    SYS(shutdown(peace.client, SHUT_WR));
    SYS(shutdown(peace.server, SHUT_WR));
    while (zdtm::tcp_state(peace.client) != TCP_CLOSE || zdtm::tcp_state(peace.server) != TCP_CLOSE) {
        usleep(1000);
    }
    me.wait_for_check();

    char text[16] = {};
    for (const int fd : {seen, unseen}) {
        CHECK(zdtm::tcp_state(fd) == TCP_CLOSE, "state %d", zdtm::tcp_state(fd));
        CHECK(recv(fd, text, sizeof text, MSG_DONTWAIT) == 7 && strcmp(text, "read me") == 0, "received '%s'", text);
    }
    CHECK(recv(seen, text, sizeof text, MSG_DONTWAIT) == 0, "no end behind it: %s", strerror(errno));
    CHECK(recv(unseen, text, sizeof text, MSG_DONTWAIT) == -1 && errno == ECONNRESET, "the error is lost");
    for (const int fd : {peace.client, peace.server}) {
        CHECK(zdtm::tcp_state(fd) == TCP_CLOSE, "state %d", zdtm::tcp_state(fd));
        CHECK(recv(fd, text, sizeof text, MSG_DONTWAIT) == 0, "something is to be read");
        CHECK(send(fd, "x", 1, MSG_NOSIGNAL) == -1 && errno == EPIPE, "it sends: %s", strerror(errno));
    }
}
