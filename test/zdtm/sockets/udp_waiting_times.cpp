// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes refused
// zdtm: dump-options --no-loss
// zdtm: refused will have other times of arrival
// zdtm: fails-with-4.2 it drops the datagram without a word
#include "inet_sockets.hpp"
#include "zdtm.hpp"

ZDTM("with --no-loss, a dump refuses a UDP socket that asks for the time of arrival of its datagrams") {
    const auto [sender, receiver] = zdtm::udp_pair();
    zdtm::set_option(receiver, SOL_SOCKET, SO_TIMESTAMP, 1);
    SYS(send(sender, "one", 3, 0));
    me.wait_for_check();
    char text[16]{};
    CHECK(recv(receiver, text, sizeof(text), 0) == 3 && std::string(text) == "one", "got %s", text);
}
