// SPDX-License-Identifier: GPL-2.0-only
// zdtm: fails-with-4.2 it loses the error
#include "unix_sockets.hpp"
#include "zdtm.hpp"

ZDTM("connections whose peer has closed with unread data: the next call returns ECONNRESET once") {
    const zdtm::Pair stream = zdtm::make_pair_of(SOCK_STREAM);
    const zdtm::Pair filled = zdtm::make_pair_of(SOCK_STREAM);
    const zdtm::Pair empty = zdtm::make_pair_of(SOCK_SEQPACKET);
    const zdtm::Pair clean = zdtm::make_pair_of(SOCK_STREAM);
    signal(SIGPIPE, SIG_IGN);
    zdtm::send_message(filled.other, "farewell");
    for (const zdtm::Pair& pair : {stream, filled, empty}) {
        zdtm::send_message(pair.one, "unread");
        SYS(close(pair.other));
    }
    SYS(close(clean.other));
    me.wait_for_check();

    const auto take_error = [](const zdtm::Pair& pair) {
        int error = 0;
        socklen_t size = sizeof error;
        SYS(getsockopt(pair.one, SOL_SOCKET, SO_ERROR, &error, &size));
        return error;
    };
    for (const zdtm::Pair& pair : {stream, filled, empty}) {
        CHECK(take_error(pair) == ECONNRESET, "no error");
        CHECK(take_error(pair) == 0, "the error came twice");
    }
    CHECK(take_error(clean) == 0, "an error without a reason");
    CHECK(zdtm::receive(stream.one).length == 0, "no end of the stream");
    CHECK(zdtm::receive(filled.one) == "farewell", "the data is lost");
    CHECK(zdtm::receive(empty.one).length == 0, "no end of the packets");
}
