// SPDX-License-Identifier: GPL-2.0-only
// zdtm: fails-with-4.2 accepted sockets lose their name
#include "unix_sockets.hpp"
#include "zdtm.hpp"

namespace {
struct Connection {
    int client;
    int server;
};

Connection connect_to(int listener, int type, const zdtm::Name& name) {
    const int client = zdtm::connected_socket(type, name);
    return {client, SYS(accept4(listener, nullptr, nullptr, SOCK_NONBLOCK))};
}

void check(const Connection& connection, const std::string& name) {
    const std::string own = zdtm::Name::of(connection.server).shown();
    const std::string peer = zdtm::Name::of_peer(connection.client).shown();
    CHECK(own == name, "the accepted socket is named '%s', not '%s'", own.c_str(), name.c_str());
    CHECK(peer == name, "the client's peer is named '%s', not '%s'", peer.c_str(), name.c_str());
    CHECK(zdtm::Name::of(connection.client).shown().empty(), "the client has a name");
    zdtm::check_connected(connection.client, connection.server, "client to server");
    zdtm::check_connected(connection.server, connection.client, "server to client");
}
}  // namespace

ZDTM("accepted sockets keep the name of their listener, whether it is open or closed") {
    const auto path = zdtm::Name::path("served");
    const auto abstract = zdtm::Name::abstract("served");
    const auto passing = zdtm::Name::path("closed");
    const auto hidden = zdtm::Name::abstract("closed");
    const int by_path = zdtm::listening_socket(SOCK_STREAM, path);
    const int by_name = zdtm::listening_socket(SOCK_SEQPACKET, abstract);
    const Connection one = connect_to(by_path, SOCK_STREAM, path);
    const Connection two = connect_to(by_path, SOCK_STREAM, path);
    const Connection three = connect_to(by_name, SOCK_SEQPACKET, abstract);
    const int closed = zdtm::listening_socket(SOCK_STREAM, passing);
    const Connection four = connect_to(closed, SOCK_STREAM, passing);
    SYS(close(closed));
    SYS(unlink("closed"));
    const int closed_too = zdtm::listening_socket(SOCK_STREAM, hidden);
    const Connection five = connect_to(closed_too, SOCK_STREAM, hidden);
    SYS(close(closed_too));
    zdtm::send_message(two.client, "waiting");
    me.wait_for_check();

    CHECK(zdtm::receive(two.server) == "waiting", "data got lost");
    check(one, "served");
    check(two, "served");
    check(three, abstract.shown());
    check(four, "closed");
    check(five, hidden.shown());
    CHECK(access("closed", F_OK) == -1, "a name that was gone is there again");
    // The listeners still accept, and the names of closed ones are free.
    check(connect_to(by_path, SOCK_STREAM, path), "served");
    check(connect_to(by_name, SOCK_SEQPACKET, abstract), abstract.shown());
    SYS(close(zdtm::listening_socket(SOCK_STREAM, hidden)));
}
