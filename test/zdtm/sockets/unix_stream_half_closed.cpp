// SPDX-License-Identifier: GPL-2.0-only
#include "unix_sockets.hpp"
#include "zdtm.hpp"

ZDTM("streams that are shut down in one or both directions, with unread data") {
    const zdtm::Pair sending = zdtm::make_pair_of(SOCK_STREAM);
    const zdtm::Pair receiving = zdtm::make_pair_of(SOCK_STREAM);
    const zdtm::Pair both = zdtm::make_pair_of(SOCK_SEQPACKET);
    signal(SIGPIPE, SIG_IGN);
    zdtm::send_message(sending.one, "before");
    SYS(shutdown(sending.one, SHUT_WR));
    SYS(shutdown(receiving.one, SHUT_RD));
    zdtm::send_message(both.one, "last");
    SYS(shutdown(both.one, SHUT_RDWR));
    me.wait_for_check();

    CHECK(zdtm::receive(sending.other) == "before", "the data is lost");
    CHECK(zdtm::receive(sending.other).length == 0, "no end of the data");
    CHECK(send(sending.one, "x", 1, 0) == -1 && errno == EPIPE, "sending works again");
    zdtm::check_connected(sending.other, sending.one, "the open direction");
    CHECK(send(receiving.other, "x", 1, 0) == -1 && errno == EPIPE, "receiving works again");
    zdtm::check_connected(receiving.one, receiving.other, "the direction that isn't shut down");
    CHECK(zdtm::receive(both.other) == "last", "the packet is lost");
    CHECK(zdtm::receive(both.other).length == 0, "no end");
    CHECK(send(both.one, "x", 1, 0) == -1 && errno == EPIPE, "sending works again");
}
