// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes refused
// zdtm: refused fd \d+ of pid \d+ .*has sent data over a connection that isn't accepted
#include "unix_sockets.hpp"
#include "zdtm.hpp"

ZDTM("a dump refuses unread data in a connection that is not accepted") {
    const auto name = zdtm::Name::path("listener");
    const int listener = zdtm::listening_socket(SOCK_STREAM, name);
    const int client = zdtm::connected_socket(SOCK_STREAM, name);
    zdtm::send_message(client, "early");
    me.wait_for_check();

    CHECK(zdtm::receive(SYS(accept(listener, nullptr, nullptr))) == "early", "the data is lost");
}
