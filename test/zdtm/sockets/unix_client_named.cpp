// SPDX-License-Identifier: GPL-2.0-only
// zdtm: fails-with-4.2 connected sockets lose their name
#include "unix_sockets.hpp"
#include "zdtm.hpp"

ZDTM("clients that are bound to names") {
    const auto server_name = zdtm::Name::path("server");
    const int listener = zdtm::listening_socket(SOCK_STREAM, server_name);
    const int client = zdtm::bound_socket(SOCK_STREAM, zdtm::Name::path("client"));
    SYS(connect(client, server_name.get(), server_name.length));
    const int server = SYS(accept4(listener, nullptr, nullptr, SOCK_NONBLOCK));
    const auto own = zdtm::Name::abstract("client");
    const int waiting = zdtm::bound_socket(SOCK_STREAM, own);
    SYS(connect(waiting, server_name.get(), server_name.length));
    me.wait_for_check();

    CHECK(zdtm::Name::of_peer(server).shown() == "client", "'%s'", zdtm::Name::of_peer(server).shown().c_str());
    CHECK(zdtm::Name::of_peer(client).shown() == "server", "'%s'", zdtm::Name::of_peer(client).shown().c_str());
    zdtm::check_connected(client, server, "client to server");
    const int accepted = SYS(accept(listener, nullptr, nullptr));
    CHECK(zdtm::Name::of_peer(accepted).shown() == own.shown(), "'%s'", zdtm::Name::of_peer(accepted).shown().c_str());
    zdtm::check_connected(waiting, accepted, "the client that waited");
}
