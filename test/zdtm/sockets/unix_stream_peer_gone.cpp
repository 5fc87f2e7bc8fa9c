// SPDX-License-Identifier: GPL-2.0-only
#include "unix_sockets.hpp"
#include "zdtm.hpp"

ZDTM("connections with a closed peer: its data can be read, then comes the end of file") {
    const zdtm::Pair stream = zdtm::make_pair_of(SOCK_STREAM);
    const zdtm::Pair packets = zdtm::make_pair_of(SOCK_SEQPACKET);
    const zdtm::Pair empty = zdtm::make_pair_of(SOCK_STREAM);
    signal(SIGPIPE, SIG_IGN);
    zdtm::send_message(stream.other, "farewell");
    zdtm::send_message(packets.other, "one");
    zdtm::send_message(packets.other, "two");
    SYS(close(stream.other));
    SYS(close(packets.other));
    SYS(close(empty.other));
    me.wait_for_check();

    CHECK(zdtm::receive(stream.one) == "farewell", "the data is lost");
    CHECK(zdtm::receive(stream.one).length == 0, "no end of the stream");
    CHECK(send(stream.one, "x", 1, 0) == -1 && errno == EPIPE, "the peer is there");
    CHECK(zdtm::receive(packets.one) == "one" && zdtm::receive(packets.one) == "two", "packets are lost");
    CHECK(zdtm::receive(packets.one).length == 0, "no end of the packets");
    CHECK(zdtm::receive(empty.one).length == 0, "no end");
}
