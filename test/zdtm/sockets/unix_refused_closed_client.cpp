// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes refused
// zdtm: refused fd \d+ of pid \d+ .*was closed by its client
#include "unix_sockets.hpp"
#include "zdtm.hpp"

ZDTM("a dump refuses a connection that is not accepted and whose client is closed") {
    const auto name = zdtm::Name::path("listener");
    const int listener = zdtm::listening_socket(SOCK_SEQPACKET, name);
    SYS(close(zdtm::connected_socket(SOCK_SEQPACKET, name)));
    me.wait_for_check();

    CHECK(zdtm::receive(SYS(accept(listener, nullptr, nullptr))).length == 0, "no end");
}
