// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes refused
// zdtm: dump-options --no-loss
// zdtm: refused send queue of .*MSG_MORE
// zdtm: fails-with-4.2 it drops the datagram without a word
#include "inet_sockets.hpp"
#include "zdtm.hpp"

ZDTM("with --no-loss, a dump refuses a UDP socket with a datagram in the making (MSG_MORE)") {
    const auto [sender, receiver] = zdtm::udp_pair();
    SYS(send(sender, "one", 3, MSG_MORE));
    me.wait_for_check();
    SYS(send(sender, "two", 3, 0));
    char text[16]{};
    CHECK(recv(receiver, text, sizeof(text), 0) == 6 && std::string(text) == "onetwo", "got %s", text);
}
