// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes refused
// zdtm: dump-options --tcp-established
// zdtm: refused fd \d of pid \d+ .*out-of-band
// zdtm: fails-with-4.2 its message says nothing of it
#include "inet_sockets.hpp"
#include "zdtm.hpp"

ZDTM("a dump refuses a connection with out-of-band data, and the connection continues") {
    const zdtm::Connection pair = zdtm::tcp_connection(AF_INET);
    SYS(send(pair.client, "urgent", 6, MSG_OOB));
    SYS(send(pair.client, "more", 4, 0));
    while (zdtm::unread(pair.server) == 0) {
        usleep(1000);
    }
    me.wait_for_check();
    char text[16] = {};
    CHECK(recv(pair.server, text, 1, MSG_OOB) == 1 && text[0] == 't', "out of band: %s", strerror(errno));
    CHECK(recv(pair.server, text, sizeof text, 0) == 5, "the rest is '%s'", text);
    zdtm::check_flows(pair.server, pair.client, "back");
}
