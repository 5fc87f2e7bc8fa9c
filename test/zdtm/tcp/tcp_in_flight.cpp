// SPDX-License-Identifier: GPL-2.0-only
// zdtm: dump-options --tcp-established
// zdtm: restore-options --tcp-established
// zdtm: fails-with-4.2 descriptors in flight
#include "inet_sockets.hpp"
#include "unix_sockets.hpp"
#include "zdtm.hpp"

ZDTM("one end of a connection is in flight in a Unix socket") {
    const zdtm::Connection tcp = zdtm::tcp_connection(AF_INET);
    const zdtm::Pair pair = zdtm::make_pair_of(SOCK_STREAM);
    zdtm::send_message(pair.one, "take it", {tcp.server});
    SYS(close(tcp.server));
    SYS(send(tcp.client, "data", 4, 0));
    me.wait_for_check();
    const zdtm::Message message = zdtm::receive(pair.other);
    CHECK(message.descriptors.size() == 1, "%zu descriptors", message.descriptors.size());
    char text[8] = {};
    CHECK(recv(message.descriptors[0], text, sizeof text, MSG_DONTWAIT) == 4, "received '%s'", text);
    zdtm::check_flows(tcp.client, message.descriptors[0], "there");
    zdtm::check_flows(message.descriptors[0], tcp.client, "back");
}
