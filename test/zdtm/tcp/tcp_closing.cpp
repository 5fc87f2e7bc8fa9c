// SPDX-License-Identifier: GPL-2.0-only
// zdtm: dump-options --tcp-established
// zdtm: restore-options --tcp-established
// zdtm: not-in leave-running
// zdtm: may-differ isk\.v6only:
#include <linux/filter.h>

#include "inet_sockets.hpp"
#include "patience.hpp"
#include "zdtm.hpp"

namespace {
// Attaches a filter that drops all incoming packets of this socket.
void go_deaf(int fd) {
    sock_filter nothing{BPF_RET | BPF_K, 0, 0, 0};
    const sock_fprog program{1, &nothing};
    SYS(setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program));
}

void listen_again(int fd) {
    zdtm::set_option(fd, SOL_SOCKET, SO_DETACH_FILTER, 0);
}

void await_state(int fd, int state, const char* what) {
    for (int tries = 0; zdtm::tcp_state(fd) != state; ++tries) {
        CHECK(tries < zdtm::kPatience, "%s: state %d instead of %d", what, zdtm::tcp_state(fd), state);
        usleep(1000);
    }
}

void check_state(int fd, int state, const char* what) {
    CHECK(zdtm::tcp_state(fd) == state, "%s: state %d instead of %d", what, zdtm::tcp_state(fd), state);
}

void check_rest(int fd, const char* what) {
    char text[16] = {};
    CHECK(recv(fd, text, sizeof text, 0) == 4 && strcmp(text, "last") == 0, "%s: received '%s'", what, text);
    CHECK(recv(fd, text, sizeof text, 0) == 0, "%s: no end", what);
}
}  // namespace

ZDTM("connections in the states FIN_WAIT1, LAST_ACK and CLOSING") {
    // The peer drops the FIN of the first client.
    const zdtm::Connection first = zdtm::tcp_connection(AF_INET);
    go_deaf(first.server);
    SYS(send(first.client, "last", 4, 0));
    SYS(shutdown(first.client, SHUT_WR));
    // The FIN of the second server is not acknowledged: the client drops it.
    const zdtm::Connection second = zdtm::tcp_connection(AF_INET6);
    SYS(shutdown(second.client, SHUT_WR));
    await_state(second.client, TCP_FIN_WAIT2, "second client");
    go_deaf(second.client);
    SYS(send(second.server, "last", 4, 0));
    SYS(shutdown(second.server, SHUT_WR));
    // Both ends of the third connection send a FIN before they receive the other's.
    const zdtm::Connection third = zdtm::tcp_connection(AF_INET);
    go_deaf(third.client);
    go_deaf(third.server);
    SYS(send(third.server, "last", 4, 0));
    SYS(shutdown(third.client, SHUT_WR));
    SYS(shutdown(third.server, SHUT_WR));
    listen_again(third.client);
    await_state(third.client, TCP_CLOSING, "third client");
    me.wait_for_check();

    check_state(first.client, TCP_FIN_WAIT1, "first client");
    check_state(first.server, TCP_ESTABLISHED, "first server");
    check_state(second.client, TCP_FIN_WAIT2, "second client");
    check_state(second.server, TCP_LAST_ACK, "second server");
    check_state(third.client, TCP_CLOSING, "third client");
    check_state(third.server, TCP_FIN_WAIT1, "third server");
    listen_again(first.server);
    listen_again(second.client);
    listen_again(third.server);
    check_rest(first.server, "first server");
    check_rest(second.client, "second client");
    check_rest(third.client, "third client");
    await_state(first.client, TCP_FIN_WAIT2, "first client");
    await_state(second.server, TCP_CLOSE, "second server");
    await_state(third.client, TCP_CLOSE, "third client");
    await_state(third.server, TCP_CLOSE, "third server");
}
