// SPDX-License-Identifier: GPL-2.0-only
// zdtm: ignore fd 5 getpeername
// zdtm: fails-with-4.2 it takes a lost peer for none
#include "unix_sockets.hpp"
#include "zdtm.hpp"

ZDTM("a send on a datagram socket with a closed peer fails") {
    const zdtm::Pair pair = zdtm::make_pair_of(SOCK_DGRAM);
    zdtm::send_message(pair.other, "farewell");
    SYS(close(pair.other));
    const auto name = zdtm::Name::path("gone");
    const int gone = zdtm::bound_socket(SOCK_DGRAM, name);
    const int named = zdtm::bound_socket(SOCK_DGRAM, zdtm::Name::path("named"));
    SYS(connect(named, name.get(), name.length));
    SYS(close(gone));
    SYS(unlink("gone"));
    me.wait_for_check();

    CHECK(zdtm::receive(pair.one) == "farewell", "data got lost");
    for (const int fd : {pair.one, named}) {
        CHECK(send(fd, "x", 1, 0) == -1 && errno == ECONNREFUSED, "first: %s", strerror(errno));
        CHECK(send(fd, "x", 1, 0) == -1 && errno == ENOTCONN, "second: %s", strerror(errno));
    }
}
