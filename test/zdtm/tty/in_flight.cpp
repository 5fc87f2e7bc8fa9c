// SPDX-License-Identifier: GPL-2.0-only
// zdtm: fails-with-4.2 it can't dump terminals in flight
#include "pty.hpp"
#include "unix_sockets.hpp"

ZDTM("both ends of a pseudoterminal are in flight between sockets") {
    const zdtm::Pair sockets = zdtm::make_pair_of(SOCK_STREAM);
    const zdtm::Pty pty = zdtm::open_pty();
    const int slave = zdtm::open_slave(pty);
    zdtm::make_raw(slave);
    zdtm::write_text(pty.master, "waiting");
    zdtm::await_bytes(slave, 7);
    zdtm::send_message(sockets.one, "x", {pty.master, slave});
    SYS(close(pty.master));
    SYS(close(slave));

    me.wait_for_check();

    const zdtm::Message got = zdtm::receive(sockets.other);
    CHECK(got.descriptors.size() == 2, "%zu descriptors", got.descriptors.size());
    CHECK(zdtm::read_now(got.descriptors[1]) == "waiting", "input differs");
    zdtm::write_text(got.descriptors[1], "reply");
    zdtm::await_bytes(got.descriptors[0], 5);
    CHECK(zdtm::read_now(got.descriptors[0]) == "reply", "output differs");
}
