// SPDX-License-Identifier: GPL-2.0-only
// zdtm: fails-with-4.2(to-other, once, five, leave-running) its connections send small segments from then on
// zdtm: dump-options --tcp-established
// zdtm: restore-options --tcp-established
// zdtm: may-differ isk\.v6only:
#include "inet_sockets.hpp"
#include "zdtm.hpp"

ZDTM("connections over IPv4, over IPv6, and over IPv4 with IPv6 sockets") {
    const zdtm::Connection plain = zdtm::tcp_connection(AF_INET6);
    const int listener = zdtm::tcp_listener(AF_INET);
    const int client = zdtm::tcp_connected(zdtm::Inet::mapped(zdtm::Inet::of(listener).port()));
    const int server = SYS(accept(listener, nullptr, nullptr));
    const zdtm::Connection old = zdtm::tcp_connection(AF_INET);
    SYS(send(plain.server, "waits", 5, 0));
    SYS(send(server, "here, too", 9, 0));
    const zdtm::Inet mapped = zdtm::Inet::of(client);
    me.wait_for_check();

    char text[16] = {};
    CHECK(recv(plain.client, text, sizeof text, MSG_DONTWAIT) == 5 && strcmp(text, "waits") == 0, "received '%s'",
          text);
    CHECK(recv(client, text, sizeof text, MSG_DONTWAIT) == 9 && strcmp(text, "here, too") == 0, "received '%s'", text);
    CHECK(zdtm::Inet::of(client) == mapped, "the address is %s", zdtm::Inet::of(client).text().c_str());
    zdtm::check_flows(plain.client, plain.server, "client to server");
    zdtm::check_flows(plain.server, plain.client, "server to client");
    zdtm::check_flows(client, server, "mapped client to server");
    zdtm::check_flows(server, client, "server to mapped client");
    zdtm::check_flows(old.server, old.client, "server to client");
    for (const int fd : {plain.server, client, old.server}) {
        const int segment = zdtm::get_option(fd, IPPROTO_TCP, TCP_MAXSEG);
        CHECK(segment > 10'000, "segments of %d bytes only", segment);
    }
    const int next = zdtm::tcp_connected(zdtm::Inet::of(listener));
    zdtm::check_flows(next, SYS(accept(listener, nullptr, nullptr)), "a new connection");
}
