// SPDX-License-Identifier: GPL-2.0-only
// zdtm: fails-with-4.2 it loses the error
// zdtm: modes once, five, pre-dump
// zdtm: not-in all-killed, dump-killed
#include "unix_sockets.hpp"
#include "zdtm.hpp"

// Other modes let the program run after a dump, which has taken the error together with the packets.
ZDTM("a connection with packets whose peer has closed with unread data: packets and ECONNRESET") {
    const zdtm::Pair pair = zdtm::make_pair_of(SOCK_SEQPACKET);
    zdtm::send_message(pair.other, "one");
    zdtm::send_message(pair.one, "unread");
    SYS(close(pair.other));
    me.wait_for_check();
    char byte = 0;
    CHECK(recv(pair.one, &byte, 1, 0) == -1 && errno == ECONNRESET, "no error");
    CHECK(zdtm::receive(pair.one) == "one", "the packet is lost");
    CHECK(zdtm::receive(pair.one).length == 0, "no end of the packets");
}
