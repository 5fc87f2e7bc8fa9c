// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes once
// zdtm: dump-options --tcp-established --network-lock iptables
// zdtm: restore-options --tcp-close
#include "inet_sockets.hpp"
#include "network.hpp"
#include "zdtm.hpp"

ZDTM("a restore with --tcp-close removes the rules of the network lock") {
    const auto [client, server] = zdtm::tcp_connection(AF_INET);
    const unsigned port = ntohs(reinterpret_cast<const sockaddr_in*>(zdtm::Inet::of(server).get())->sin_port);
    me.wait_for_check();
    char byte = 0;
    CHECK(read(client, &byte, 1) <= 0, "the client is connected");
    CHECK(read(server, &byte, 1) <= 0, "the server is connected");
    const std::string rules = zdtm::output_of("iptables-save -t filter");
    CHECK(rules.find(" " + std::to_string(port) + " ") == std::string::npos, "%s", rules.c_str());
}
